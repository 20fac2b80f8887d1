package pt2

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

const examples = "../../examples/"

func images(t *testing.T, name string) []float32 {
	t.Helper()
	bytes, err := os.ReadFile(examples + name)
	if err != nil {
		t.Fatal(err)
	}
	bytes = bytes[10+int(binary.LittleEndian.Uint16(bytes[8:])):]
	pixels := make([]float32, len(bytes)/4)
	for i := range pixels {
		pixels[i] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:]))
	}
	return pixels
}

func digits(t *testing.T) *Model {
	t.Helper()
	model, err := Load(examples + "digits.pt2")
	if err != nil {
		t.Fatal(err)
	}
	return model
}

func recognise(model *Model, pixels []float32) ([]int, error) {
	session, err := model.NewSession()
	if err != nil {
		return nil, err
	}
	count := int64(len(pixels) / 64)
	scores := make([]float32, 10*count)
	err = session.Run([]Tensor{{pixels, []int64{count, 1, 8, 8}}}, []Tensor{{scores, []int64{count, 10}}})
	var digits []int
	for row := scores; len(row) > 0; row = row[10:] {
		best := 0
		for i := range row[:10] {
			if row[i] > row[best] {
				best = i
			}
		}
		digits = append(digits, best)
	}
	return digits, err
}

func TestRecognisesDigits(t *testing.T) {
	model := digits(t)
	one, err := recognise(model, images(t, "digit_5.npy"))
	if err != nil || fmt.Sprint(one) != "[5]" {
		t.Fatal(one, err)
	}
	labels, _ := os.ReadFile(examples + "digits_8.labels.txt")
	eight, err := recognise(model, images(t, "digits_8.npy"))
	if want := fmt.Sprint(strings.Fields(string(labels))); err != nil || fmt.Sprint(eight) != want {
		t.Fatal(eight, want, err)
	}
}

func TestLoadsBytes(t *testing.T) {
	file, err := os.ReadFile(examples + "digits.pt2")
	if err != nil {
		t.Fatal(err)
	}
	model, err := LoadBytes(file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	clear(file)
	if one, err := recognise(model, images(t, "digit_5.npy")); err != nil || fmt.Sprint(one) != "[5]" {
		t.Fatal(one, err)
	}
	var refused *Error
	if _, err := LoadBytes(file[:100], Options{}); !errors.As(err, &refused) || refused.Code == Argument {
		t.Fatal(err)
	}
	if _, err := LoadBytes(nil, Options{}); err == nil {
		t.Fatal("found no error")
	}
}

func TestSaysWhatItTakes(t *testing.T) {
	inputs, err := digits(t).Inputs()
	if err != nil || inputs[0].Name != "image" || fmt.Sprint(inputs[0].Sizes) != "[-1 1 8 8]" {
		t.Fatal(inputs, err)
	}
}

func TestErrorsSayWhere(t *testing.T) {
	session, _ := digits(t).NewSession()
	err := session.Run([]Tensor{{make([]float32, 9), []int64{9}}}, []Tensor{{make([]float32, 10), []int64{1, 10}}})
	var found *Error
	if !errors.As(err, &found) || found.Code != Argument || !strings.HasPrefix(found.Place, "input 'image'") {
		t.Fatal(err)
	}
	if err := session.Run([]Tensor{{make([]float32, 9), []int64{8}}}, nil); err != errElements {
		t.Fatal(err)
	}
	if _, err := Load("missing.pt2"); err == nil {
		t.Fatal("found no error")
	}
}

func TestCallsEndWithTheirContext(t *testing.T) {
	session, _ := digits(t).NewSession()
	image, scores := Tensor{make([]float32, 64), []int64{1, 1, 8, 8}}, Tensor{make([]float32, 10), []int64{1, 10}}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if err := session.RunContext(ctx, []Tensor{image}, []Tensor{scores}); err != nil {
		t.Fatal(err)
	}
	if results, err := session.CallContext(ctx, image); err != nil || len(results) != 1 {
		t.Fatal(results, err)
	}
	late, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	<-late.Done()
	if err := session.RunContext(late, []Tensor{image}, []Tensor{scores}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if _, err := session.CallContext(late, image); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	var refused *Error
	if _, err := session.CallContext(ctx, 3); !errors.As(err, &refused) || refused.Code != Argument {
		t.Fatal(err)
	}
}

func TestGoroutinesShareAModel(t *testing.T) {
	model := digits(t)
	pixels := images(t, "digits_8.npy")
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			if digits, err := recognise(model, pixels); err != nil || len(digits) != 8 {
				t.Error(digits, err)
			}
		}()
	}
	group.Wait()
}
