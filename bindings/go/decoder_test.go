package pt2

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"testing"
)

const decoders = "../../tests/data/decoders/"

// A recorded call of Transformers' model.generate.
type recorded struct {
	Inputs map[string][][]int64
	Prompt []int64
	Tokens []int64
}

func calls(t *testing.T, folder string) []recorded {
	t.Helper()
	bytes, err := os.ReadFile(decoders + folder + "/tokens.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Calls []recorded }
	if err := json.Unmarshal(bytes, &all); err != nil {
		t.Fatal(err)
	}
	return all.Calls
}

func openDecoder(t *testing.T, folder string) *Decoder {
	t.Helper()
	decoder, err := OpenDecoder(decoders + folder)
	if err != nil {
		t.Fatal(err)
	}
	return decoder
}

func greedy(count int) Generate {
	return Generate{MaxNewTokens: int64(count), Sampling: &Sampling{TopP: 1}, StopIDs: []int64{}}
}

func TestGeneratesWhatTransformersDoes(t *testing.T) {
	decoder := openDecoder(t, "dynamic")
	var prompts, want [][]int64
	for _, call := range calls(t, "dynamic") {
		prompts = append(prompts, call.Prompt)
		want = append(want, call.Tokens)
	}
	how := greedy(len(want[0]))
	told := make([][]int64, len(prompts))
	how.OnToken = func(prompt int, token int64) bool {
		told[prompt] = append(told[prompt], token)
		return true
	}
	texts, err := decoder.Generate(prompts, how)
	if err != nil || !reflect.DeepEqual(texts, want) || !reflect.DeepEqual(told, want) {
		t.Fatal(texts, told, err)
	}
	how.OnToken = func(prompt int, token int64) bool { return false }
	if texts, err := decoder.Generate(prompts[:1], how); err != nil || len(texts[0]) != 1 {
		t.Fatal(texts, err)
	}
}

func TestPanicsOfOnTokenComeThrough(t *testing.T) {
	decoder := openDecoder(t, "dynamic")
	how := greedy(3)
	how.OnToken = func(prompt int, token int64) bool { panic("enough") }
	func() {
		defer func() {
			if reason := recover(); reason != "enough" {
				t.Fatal(reason)
			}
		}()
		decoder.Generate([][]int64{{5}}, how)
	}()
	how.OnToken = nil
	if texts, err := decoder.Generate([][]int64{{5}}, how); err != nil || len(texts[0]) != 3 {
		t.Fatal(texts, err)
	}
}

func TestOnTokenMayClose(t *testing.T) {
	decoder := openDecoder(t, "dynamic")
	how := greedy(9)
	how.OnToken = func(prompt int, token int64) bool {
		decoder.Close()
		_, err := decoder.Generate([][]int64{{5}}, greedy(1))
		return err != nil
	}
	if texts, err := decoder.Generate([][]int64{{5}}, how); err != nil || len(texts[0]) != 1 {
		t.Fatal(texts, err)
	}
	if _, err := decoder.Generate([][]int64{{5}}, greedy(1)); err == nil || decoder.handle != nil {
		t.Fatal("found an open decoder")
	}
	decoder.Close()
}

func TestGenerationEndsWithItsContext(t *testing.T) {
	decoder := openDecoder(t, "dynamic")
	ctx, cancel := context.WithCancel(context.Background())
	how := greedy(1 << 20)
	how.OnToken = func(prompt int, token int64) bool {
		cancel()
		return true
	}
	if _, err := decoder.GenerateContext(ctx, [][]int64{{5}}, how); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := decoder.GiveContext(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if texts, err := decoder.Generate([][]int64{{5}}, greedy(3)); err != nil || len(texts[0]) != 3 {
		t.Fatal(texts, err)
	}
}

func TestGeneratesBehindAnEncoder(t *testing.T) {
	decoder := openDecoder(t, "encoder")
	for _, call := range calls(t, "encoder") {
		inputs := map[string]Tensor{}
		for name, rows := range call.Inputs {
			inputs[name] = Tensor{rows[0], []int64{1, int64(len(rows[0]))}}
		}
		if err := decoder.Give(inputs); err != nil {
			t.Fatal(err)
		}
		texts, err := decoder.Generate([][]int64{call.Prompt}, greedy(len(call.Tokens)))
		if err != nil || !reflect.DeepEqual(texts[0], call.Tokens) {
			t.Fatal(texts, err)
		}
	}
}

func TestDecodersTakeOptions(t *testing.T) {
	call := calls(t, "dynamic")[0]
	decoder, err := OpenDecoderWith(decoders+"dynamic", DecoderOptions{Limits: "max_work=1000000000", Reference: true, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	texts, err := decoder.Generate([][]int64{call.Prompt}, greedy(len(call.Tokens)))
	if err != nil || !reflect.DeepEqual(texts[0], call.Tokens) {
		t.Fatal(texts, err)
	}
	for _, wrong := range []DecoderOptions{{Limits: "max_fun=1"}, {Threads: 1 << 20}, {CacheLength: -1}} {
		if _, err := OpenDecoderWith(decoders+"dynamic", wrong); err == nil {
			t.Fatal("found no error", wrong)
		}
	}
}

func TestDecodersSayWhatIsWrong(t *testing.T) {
	if _, err := OpenDecoder("missing"); err == nil {
		t.Fatal("found no error")
	}
	decoder := openDecoder(t, "dynamic")
	if _, err := decoder.Generate([][]int64{{1 << 40}}, greedy(1)); err == nil {
		t.Fatal("found no error")
	}
	if err := decoder.Give(map[string]Tensor{"pixels": {[]float32{1}, []int64{1}}}); err == nil {
		t.Fatal("found no error")
	}
}
