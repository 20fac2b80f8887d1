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
*/
import "C"

import (
	"errors"
	"runtime"
	"unsafe"
)

// Error is an error of the library. Codes are those of pt2.h; Place says where the error occurred.
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

// Place is an input or output of a model. A size of -1 depends on the inputs.
type Place struct {
	Name  string
	Type  string
	Sizes []int64
}

// Model is a loaded program. Goroutines may share it.
type Model struct {
	handle *C.pt2_model
}

// Load opens a file. Its weights stay mapped into memory.
func Load(path string) (*Model, error) {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	model := &Model{}
	if err := check(C.pt2_model_load(text, C.size_t(len(path)), nil, &model.handle)); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(model, func(m *Model) { C.pt2_model_free(m.handle) })
	return model, nil
}

func placeOf(from *C.pt2_place) Place {
	place := Place{Name: C.GoString(from.name), Type: C.GoString(from._type)}
	if from.dims > 0 {
		for _, size := range unsafe.Slice(from.sizes, int(from.dims)) {
			place.Sizes = append(place.Sizes, int64(size))
		}
	}
	return place
}

// Inputs returns the inputs in the order in which a session takes them.
func (m *Model) Inputs() ([]Place, error) {
	defer runtime.KeepAlive(m)
	var out []Place
	for i := C.size_t(0); i < C.pt2_model_input_count(m.handle); i++ {
		place := C.new_place()
		if err := check(C.pt2_model_get_input(m.handle, i, &place)); err != nil {
			return nil, err
		}
		out = append(out, placeOf(&place))
	}
	return out, nil
}

// Tensor is a row-major tensor of float32, float64, int64, int32 or uint8 elements in a slice.
type Tensor struct {
	Data  any
	Sizes []int64
}

var errElements = errors.New("pt2: the slice has not as many elements as the sizes say")

func address[T any](data []T) (unsafe.Pointer, int) {
	return unsafe.Pointer(unsafe.SliceData(data)), len(data)
}

// view returns a view of the tensor's memory, which `pinner` pins.
func (t *Tensor) view(pinner *runtime.Pinner) (C.pt2_tensor_view, error) {
	var view C.pt2_tensor_view
	var pointer unsafe.Pointer
	length := -1
	switch data := t.Data.(type) {
	case []float32:
		view.dtype = C.pt2_dtype{code: 2, bits: 32}
		pointer, length = address(data)
	case []float64:
		view.dtype = C.pt2_dtype{code: 2, bits: 64}
		pointer, length = address(data)
	case []int64:
		view.dtype = C.pt2_dtype{code: 0, bits: 64}
		pointer, length = address(data)
	case []int32:
		view.dtype = C.pt2_dtype{code: 0, bits: 32}
		pointer, length = address(data)
	case []uint8:
		view.dtype = C.pt2_dtype{code: 1, bits: 8}
		pointer, length = address(data)
	default:
		return view, errors.New("pt2: no slice of a type that tensors have")
	}
	count := int64(1)
	for _, size := range t.Sizes {
		count *= size
	}
	if count != int64(length) {
		return view, errElements
	}
	if length > 0 {
		pinner.Pin(pointer)
		view.data = pointer
	}
	if len(t.Sizes) > 0 {
		pinner.Pin(&t.Sizes[0])
		view.sizes = (*C.int64_t)(unsafe.Pointer(&t.Sizes[0]))
	}
	view.dims = C.int32_t(len(t.Sizes))
	return view, nil
}

// Session runs a model and keeps the state that it changes. One goroutine at a time may use it.
type Session struct {
	handle *C.pt2_session
}

// NewSession starts a session, which shares the model's weights.
func (m *Model) NewSession() (*Session, error) {
	defer runtime.KeepAlive(m)
	session := &Session{}
	if err := check(C.pt2_session_create(m.handle, nil, &session.handle)); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(session, func(s *Session) { C.pt2_session_free(s.handle) })
	return session, nil
}

// Run reads `inputs` and writes `outputs` in the caller's memory, and keeps no reference to either.
// The program may change its inputs in place.
func (s *Session) Run(inputs []Tensor, outputs []Tensor) error {
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
	return check(C.pt2_session_run_views(s.handle, &views[0], C.size_t(len(inputs)),
		&views[len(inputs)], C.size_t(len(outputs)), nil))
}
