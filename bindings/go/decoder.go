package pt2

/*
#include <stdlib.h>
#include <pt2/c/pt2.h>

// Defined in Go below. The preamble of a file with //export may only declare functions.
int32_t pt2GoToken(size_t prompt, int64_t token, void* user);
*/
import "C"

import (
	"context"
	"runtime"
	"runtime/cgo"
	"unsafe"
)

// Sampling says how tokens are drawn. TopK 0 and TopP 1 draw from all tokens; Temperature 0 always
// takes the most likely token.
type Sampling struct {
	Temperature float64
	TopK        int64
	TopP        float64
	Seed        uint64
}

// Generate holds the options of generation. Zero values mean the defaults of generation_config.json.
type Generate struct {
	MaxNewTokens int64
	Sampling     *Sampling
	// StopIDs end generation. Nil means those of generation_config.json; an empty slice means none.
	StopIDs []int64
	// OnToken receives the prompt's index and each token as soon as it is known; false ends generation.
	OnToken func(prompt int, token int64) bool
}

// Decoder is a language model: a folder written by Transformers' exporter, or one program that takes
// token ids. One goroutine at a time may use it.
type Decoder struct {
	handle *C.pt2_decoder
	// The calls of Generate in progress: more than one if OnToken makes another, which is refused.
	calls    int
	isClosed bool
}

// DecoderOptions say how a decoder is opened and run. Zero values mean the defaults.
type DecoderOptions struct {
	Limits    string // as in Options
	Reference bool   // use the reference engine instead of the planned one
	Threads   uint32 // most threads that compute a call; 0: all CPUs that the process may use
	// CacheLength is the number of tokens that a fixed-size cache holds, if the program does not fix it;
	// 0: 2048.
	CacheLength int64
}

// OpenDecoder opens the language model in a folder or a file.
func OpenDecoder(path string) (*Decoder, error) { return OpenDecoderWith(path, DecoderOptions{}) }

// OpenDecoderWith opens a language model with options.
func OpenDecoderWith(path string, how DecoderOptions) (*Decoder, error) {
	text, limits := C.CString(path), C.CString(how.Limits)
	defer C.free(unsafe.Pointer(text))
	defer C.free(unsafe.Pointer(limits))
	options := C.pt2_decoder_options{size: C.sizeof_pt2_decoder_options, limits: limits,
		limits_length: C.size_t(len(how.Limits)), threads: C.uint32_t(how.Threads), cache_length: C.int64_t(how.CacheLength)}
	if how.Reference {
		options.engine = C.PT2_ENGINE_REFERENCE
	}
	decoder := &Decoder{}
	if err := check(C.pt2_decoder_open(text, C.size_t(len(path)), &options, &decoder.handle)); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(decoder, (*Decoder).Close)
	return decoder, nil
}

// Close frees the decoder. Without Close, the garbage collector frees it. Within OnToken, it ends
// generation; Generate still returns the tokens.
func (d *Decoder) Close() {
	d.isClosed = true
	if d.calls > 0 {
		return // the library is using the decoder: Generate frees it
	}
	C.pt2_decoder_free(d.handle)
	d.handle = nil
}

// Give sets the inputs that the programs take beside tokens, by name. If the model has an encoder,
// these are the encoder's inputs and the encoder runs now.
func (d *Decoder) Give(inputs map[string]Tensor) error {
	return d.GiveContext(context.Background(), inputs)
}

// GiveContext is Give that ends when ctx does, with the error of ctx.
func (d *Decoder) GiveContext(ctx context.Context, inputs map[string]Tensor) error {
	defer runtime.KeepAlive(d)
	var pinner runtime.Pinner
	defer pinner.Unpin()
	named := make([]C.pt2_named_value, 0, len(inputs)+1)
	defer func() {
		for i := range named {
			C.pt2_value_free((*C.pt2_value)(named[i].value))
		}
	}()
	for name, tensor := range inputs {
		view, err := tensor.view(&pinner)
		if err != nil {
			return err
		}
		var value *C.pt2_value
		if err := check(C.pt2_value_copy(&view, &value)); err != nil {
			return err
		}
		text := []byte(name + "\x00")
		pinner.Pin(&text[0])
		named = append(named, C.pt2_named_value{
			name: (*C.char)(unsafe.Pointer(&text[0])), name_length: C.size_t(len(name)), value: value})
	}
	return within(ctx, func(how *C.pt2_call_options) *C.pt2_error {
		return C.pt2_decoder_give(d.handle, unsafe.SliceData(named), C.size_t(len(named)), how)
	})
}

// listener is a function that receives tokens, and the value of its panic, if any.
type listener struct {
	decoder  *Decoder
	onToken  func(int, int64) bool
	panicked any
}

//export pt2GoToken
func pt2GoToken(prompt C.size_t, token C.int64_t, user unsafe.Pointer) (ends C.int32_t) {
	told := (*(*cgo.Handle)(user)).Value().(*listener)
	// A panic must not unwind through the library: the decoder would stay marked as in use.
	defer func() {
		if told.panicked = recover(); told.panicked != nil {
			ends = 1
		}
	}()
	if told.onToken(int(prompt), int64(token)) && !told.decoder.isClosed {
		return 0
	}
	return 1
}

// Generate returns the new tokens of each prompt. Prompts are computed together if the program takes
// more than one sequence.
func (d *Decoder) Generate(prompts [][]int64, how Generate) ([][]int64, error) {
	return d.GenerateContext(context.Background(), prompts, how)
}

// GenerateContext is Generate that ends when ctx does, with the error of ctx.
func (d *Decoder) GenerateContext(ctx context.Context, prompts [][]int64, how Generate) ([][]int64, error) {
	defer runtime.KeepAlive(d)
	d.calls++
	defer func() {
		if d.calls--; d.calls == 0 && d.isClosed {
			d.Close()
		}
	}()
	var pinner runtime.Pinner
	defer pinner.Unpin()
	// Each slice has one extra element, so that its first element has an address even without prompts.
	ids := []int64{}
	counts := make([]C.size_t, len(prompts)+1)
	for i, prompt := range prompts {
		ids = append(ids, prompt...)
		counts[i] = C.size_t(len(prompt))
	}
	ids = append(ids, 0)
	options := C.pt2_generate_options{size: C.sizeof_pt2_generate_options, max_new_tokens: C.int64_t(how.MaxNewTokens)}
	if s := how.Sampling; s != nil {
		options.has_sampling = 1
		options.temperature = C.double(s.Temperature)
		options.top_k = C.int64_t(s.TopK)
		options.top_p = C.double(s.TopP)
		options.seed = C.uint64_t(s.Seed)
	}
	if how.StopIDs != nil {
		stop := append(append([]int64{}, how.StopIDs...), 0)
		pinner.Pin(&stop[0])
		options.stop_ids = (*C.int64_t)(unsafe.Pointer(&stop[0]))
		options.stop_count = C.size_t(len(how.StopIDs))
	}
	listening := &listener{decoder: d, onToken: how.OnToken}
	if how.OnToken != nil {
		told := cgo.NewHandle(listening)
		defer told.Delete()
		pinner.Pin(&told)
		options.user = unsafe.Pointer(&told)
		options.token_of = (*[0]byte)(C.pt2GoToken)
	}
	values := make([]*C.pt2_value, len(prompts)+1)
	defer func() {
		for _, value := range values {
			C.pt2_value_free(value)
		}
	}()
	err := within(ctx, func(limits *C.pt2_call_options) *C.pt2_error {
		return C.pt2_decoder_generate_batch(d.handle, (*C.int64_t)(unsafe.Pointer(&ids[0])), &counts[0],
			C.size_t(len(prompts)), &options, limits, &values[0], nil)
	})
	if listening.panicked != nil {
		panic(listening.panicked)
	}
	if err != nil {
		return nil, err
	}
	texts := make([][]int64, len(prompts))
	for i := range texts {
		var view C.pt2_tensor_view
		if err := check(C.pt2_value_get_tensor(values[i], &view)); err != nil {
			return nil, err
		}
		if *view.sizes > 0 {
			texts[i] = append(texts[i], unsafe.Slice((*int64)(view.data), int(*view.sizes))...)
		}
	}
	return texts, nil
}
