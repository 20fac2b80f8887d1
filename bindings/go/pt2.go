// Package pt2 runs PyTorch's exported programs (.pt2) without PyTorch, through libpt2's C interface.
// cgo finds the library through pkg-config, or through CGO_CFLAGS and CGO_LDFLAGS.
package pt2

/*
#cgo pkg-config: libpt2
#include <stdlib.h>
#include <pt2/c/pt2.h>

static pt2_place new_place(void) {
  pt2_place place = PT2_INIT(pt2_place);
  return place;
}

static pt2_load_options new_load_options(void) {
  pt2_load_options options = PT2_INIT(pt2_load_options);
  return options;
}

// Loads bytes that malloc gave. The model frees them.
static pt2_error* load_bytes(void* bytes, size_t count, const pt2_load_options* options, pt2_model** out) {
  return pt2_model_load_memory(bytes, count, "bytes", 5, free, bytes, options, out);
}

static pt2_session_options new_session_options(void) {
  pt2_session_options options = PT2_INIT(pt2_session_options);
  return options;
}

static pt2_call_options new_call_options(void) {
  pt2_call_options options = PT2_INIT(pt2_call_options);
  return options;
}
*/
import "C"

import (
	"context"
	"runtime"
	"unsafe"
)

// The codes of errors.
const (
	IO          = C.PT2_IO          // the file could not be read or written
	Corrupt     = C.PT2_CORRUPT     // the bytes are damaged or forged
	Malformed   = C.PT2_MALFORMED   // not the format that it claims to be
	Invalid     = C.PT2_INVALID     // a rule of the format is broken
	Unsupported = C.PT2_UNSUPPORTED // valid, but not known to this version
	Limit       = C.PT2_LIMIT       // a safety limit was hit
	Cancelled   = C.PT2_CANCELLED   // stopped on request, or its deadline passed
	Argument    = C.PT2_ARGUMENT    // the caller passed an argument that is not allowed
	NoMemory    = C.PT2_NO_MEMORY   // an allocation failed
	Internal    = C.PT2_INTERNAL    // a bug of the library, or of a callback
)

// Error is an error of the library. Code is one of the constants; Place says where the error occurred.
type Error struct {
	Code    int
	Message string
	Place   string
}

func (e *Error) Error() string {
	if e.Place == "" {
		return e.Message
	}
	return e.Place + ": " + e.Message
}

// check frees the error and returns it as a Go error, or nil if there is none.
func check(e *C.pt2_error) error {
	if e == nil {
		return nil
	}
	defer C.pt2_error_free(e)
	return &Error{
		Code:    int(C.pt2_error_code(e)),
		Message: C.GoString(C.pt2_error_message(e, nil)),
		Place:   C.GoString(C.pt2_error_place(e, nil)),
	}
}

// within makes a call that ends when ctx does, with the error of ctx.
func within(ctx context.Context, call func(*C.pt2_call_options) *C.pt2_error) error {
	if ctx.Done() == nil {
		return check(call(nil))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	options := C.new_call_options()
	var stop *C.pt2_stop
	if err := check(C.pt2_stop_create(&stop)); err != nil {
		return err
	}
	options.stop = stop
	requested := make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		C.pt2_stop_request(stop)
		close(requested)
	})
	err := check(call(&options))
	if !forget() {
		<-requested // the function has begun, and uses `stop`
	}
	C.pt2_stop_free(stop)
	if failed, ok := err.(*Error); ok && failed.Code == Cancelled {
		return ctx.Err()
	}
	return err
}

// Place is an input or output of a model.
type Place struct {
	Name string
	Type string // "f32[batch 1..64, 3]", "int"
	// Dtype is PyTorch's name of a tensor's dtype, "float32"; empty for other values.
	Dtype string
	// Sizes are those of a tensor; -1 depends on the inputs. Minimum and Maximum bound each; a maximum of
	// math.MaxInt64 is no bound.
	Sizes, Minimum, Maximum []int64
	IsTensor                bool
	// IsOptional: the program holds the value of the input as a constant; Call takes nil for it.
	IsOptional bool
}

// Options say how a model is loaded and run. Zero values mean the defaults.
type Options struct {
	Program   string // of a file with several
	Limits    string // safety limits that differ from the defaults: "max_work=1000,max_json_depth=64"
	Reference bool   // use the reference engine instead of the planned one
	Threads   uint32 // most threads that compute a call; 0: all CPUs that the process may use
}

// Model is a loaded program. Goroutines may share it.
type Model struct {
	handle  *C.pt2_model
	threads uint32
}

// Load opens a file. Its weights stay mapped into memory.
func Load(path string) (*Model, error) { return LoadWith(path, Options{}) }

// LoadWith opens a file with options.
func LoadWith(path string, how Options) (*Model, error) {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	return load(how, func(options *C.pt2_load_options, out **C.pt2_model) *C.pt2_error {
		return C.pt2_model_load(text, C.size_t(len(path)), options, out)
	})
}

// LoadBytes loads a model from a copy of the bytes of a file.
func LoadBytes(file []byte, how Options) (*Model, error) {
	bytes := C.CBytes(file)
	model, err := load(how, func(options *C.pt2_load_options, out **C.pt2_model) *C.pt2_error {
		return C.load_bytes(bytes, C.size_t(len(file)), options, out)
	})
	if err != nil {
		C.free(bytes)
	}
	return model, err
}

func load(how Options, open func(*C.pt2_load_options, **C.pt2_model) *C.pt2_error) (*Model, error) {
	options := C.new_load_options()
	program, limits := C.CString(how.Program), C.CString(how.Limits)
	defer C.free(unsafe.Pointer(program))
	defer C.free(unsafe.Pointer(limits))
	options.program, options.program_length = program, C.size_t(len(how.Program))
	options.limits, options.limits_length = limits, C.size_t(len(how.Limits))
	if how.Reference {
		options.engine = C.PT2_ENGINE_REFERENCE
	}
	model := &Model{threads: how.Threads}
	if err := check(open(&options, &model.handle)); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(model, (*Model).Close)
	return model, nil
}

// Close frees the model. Sessions live on. Without Close, the garbage collector frees it.
func (m *Model) Close() {
	C.pt2_model_free(m.handle)
	m.handle = nil
}

func placeOf(from *C.pt2_place) Place {
	place := Place{Name: C.GoString(from.name), Type: C.GoString(from._type), IsOptional: from.is_optional != 0}
	if from.is_tensor != 0 {
		place.IsTensor = true
		place.Sizes = numbers(from.sizes, from.dims)
		place.Minimum = numbers(from.minimum, from.dims)
		place.Maximum = numbers(from.maximum, from.dims)
		if known := elementTypeOf(from.dtype); known != nil {
			place.Dtype = known.name
		}
	}
	return place
}

// Inputs returns the inputs in the order in which a session takes them.
func (m *Model) Inputs() ([]Place, error) {
	defer runtime.KeepAlive(m)
	out := make([]Place, C.pt2_model_input_count(m.handle))
	for i := range out {
		place := C.new_place()
		if err := check(C.pt2_model_get_input(m.handle, C.size_t(i), &place)); err != nil {
			return nil, err
		}
		out[i] = placeOf(&place)
	}
	return out, nil
}

// Outputs returns the outputs in the order in which a session gives them.
func (m *Model) Outputs() ([]Place, error) {
	defer runtime.KeepAlive(m)
	out := make([]Place, C.pt2_model_output_count(m.handle))
	for i := range out {
		place := C.new_place()
		if err := check(C.pt2_model_get_output(m.handle, C.size_t(i), &place)); err != nil {
			return nil, err
		}
		out[i] = placeOf(&place)
	}
	return out, nil
}

// StateNames returns the names of parameters, buffers and constants.
func (m *Model) StateNames() []string {
	defer runtime.KeepAlive(m)
	names := make([]string, C.pt2_model_state_count(m.handle))
	for i := range names {
		names[i] = C.GoString(C.pt2_model_state_name(m.handle, C.size_t(i), nil))
	}
	return names
}

// Session runs a model and keeps the state that it changes. One goroutine at a time may use it.
type Session struct {
	handle  *C.pt2_session
	outputs int
}

// NewSession starts a session, which shares the model's weights.
func (m *Model) NewSession() (*Session, error) {
	defer runtime.KeepAlive(m)
	options := C.new_session_options()
	options.threads = C.uint32_t(m.threads)
	session := &Session{outputs: int(C.pt2_model_output_count(m.handle))}
	if err := check(C.pt2_session_create(m.handle, &options, &session.handle)); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(session, (*Session).Close)
	return session, nil
}

// Close frees the session. Without Close, the garbage collector frees it.
func (s *Session) Close() {
	C.pt2_session_free(s.handle)
	s.handle = nil
}

// Run reads `inputs` and writes `outputs` in the caller's memory, and keeps no reference to either. All
// must be tensors.
// The program may change its inputs in place.
func (s *Session) Run(inputs []Tensor, outputs []Tensor) error {
	return s.RunContext(context.Background(), inputs, outputs)
}

// RunContext is Run that ends when ctx does, with the error of ctx.
func (s *Session) RunContext(ctx context.Context, inputs []Tensor, outputs []Tensor) error {
	defer runtime.KeepAlive(s)
	var pinner runtime.Pinner
	defer pinner.Unpin()
	views := make([]C.pt2_tensor_view, len(inputs)+len(outputs)+1)
	for i := range inputs {
		view, err := inputs[i].view(&pinner)
		if err != nil {
			return err
		}
		views[i] = view
	}
	for i := range outputs {
		view, err := outputs[i].view(&pinner)
		if err != nil {
			return err
		}
		views[len(inputs)+i] = view
	}
	err := within(ctx, func(how *C.pt2_call_options) *C.pt2_error {
		return C.pt2_session_run_views(s.handle, &views[0], C.size_t(len(inputs)),
			&views[len(inputs)], C.size_t(len(outputs)), how)
	})
	for i := range outputs {
		outputs[i].settle()
	}
	return err
}

// State returns a copy of a parameter, buffer or constant.
func (s *Session) State(name string) (Tensor, error) {
	defer runtime.KeepAlive(s)
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var value *C.pt2_value
	if err := check(C.pt2_session_get_state(s.handle, text, C.size_t(len(name)), &value)); err != nil {
		return Tensor{}, err
	}
	defer C.pt2_value_free(value)
	return tensorOf(value)
}

// SetState copies a tensor of the same dtype and sizes into a parameter, buffer or constant, for later
// runs of this session.
func (s *Session) SetState(name string, tensor Tensor) error {
	defer runtime.KeepAlive(s)
	var pinner runtime.Pinner
	defer pinner.Unpin()
	view, err := tensor.view(&pinner)
	if err != nil {
		return err
	}
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return check(C.pt2_session_set_state(s.handle, text, C.size_t(len(name)), &view))
}

// Seed seeds the random operators. The seed of a new session is 0.
func (s *Session) Seed(seed uint64) error {
	defer runtime.KeepAlive(s)
	return check(C.pt2_session_seed(s.handle, C.uint64_t(seed)))
}

// Call takes inputs that need not be tensors (int, int64, float64, bool, string, nil for an optional
// one), and gives results whose sizes need not be known: Tensor, int64, float64, bool, string or nil.
// It copies inputs and results.
func (s *Session) Call(inputs ...any) ([]any, error) {
	return s.CallContext(context.Background(), inputs...)
}

// CallContext is Call that ends when ctx does, with the error of ctx.
func (s *Session) CallContext(ctx context.Context, inputs ...any) ([]any, error) {
	defer runtime.KeepAlive(s)
	// The inputs, then the results. The extra element has an address even without any.
	values := make([]*C.pt2_value, len(inputs)+s.outputs+1)
	defer func() {
		for _, value := range values {
			C.pt2_value_free(value)
		}
	}()
	for i, input := range inputs {
		value, err := valueOf(input)
		if err != nil {
			return nil, err
		}
		values[i] = value
	}
	err := within(ctx, func(how *C.pt2_call_options) *C.pt2_error {
		return C.pt2_session_run(s.handle, &values[0], C.size_t(len(inputs)), how,
			&values[len(inputs)], C.size_t(s.outputs))
	})
	if err != nil {
		return nil, err
	}
	results := make([]any, s.outputs)
	for i := range results {
		result, err := resultOf(values[len(inputs)+i])
		if err != nil {
			return nil, err
		}
		results[i] = result
	}
	return results, nil
}
