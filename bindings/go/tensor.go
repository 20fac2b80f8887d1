package pt2

/*
#include <pt2/c/pt2.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"unsafe"
)

// The bits of elements for which Go has no type. Complex32 has the real part first.
type (
	Float16        uint16
	BFloat16       uint16
	Float8E4M3FN   uint8
	Float8E4M3FNUZ uint8
	Float8E5M2     uint8
	Float8E5M2FNUZ uint8
	Float8E8M0FNU  uint8
	Complex32      [2]Float16
)

// elementType is a dtype: PyTorch's name, DLPack's code and bits, and the slice that holds its elements.
type elementType struct {
	name       string
	code, bits uint8
	slice      reflect.Type
}

func of[T any](name string, code, bits uint8) elementType {
	return elementType{name, code, bits, reflect.TypeOf([]T(nil))}
}

var elementTypes = []elementType{
	of[float32]("float32", 2, 32),
	of[float64]("float64", 2, 64),
	of[int8]("int8", 0, 8),
	of[int16]("int16", 0, 16),
	of[int32]("int32", 0, 32),
	of[int64]("int64", 0, 64),
	of[uint8]("uint8", 1, 8),
	of[uint16]("uint16", 1, 16),
	of[uint32]("uint32", 1, 32),
	of[uint64]("uint64", 1, 64),
	of[bool]("bool", 6, 8),
	of[complex64]("complex64", 5, 64),
	of[complex128]("complex128", 5, 128),
	of[Float16]("float16", 2, 16),
	of[BFloat16]("bfloat16", 4, 16),
	of[Float8E4M3FN]("float8_e4m3fn", 10, 8),
	of[Float8E4M3FNUZ]("float8_e4m3fnuz", 11, 8),
	of[Float8E5M2]("float8_e5m2", 12, 8),
	of[Float8E5M2FNUZ]("float8_e5m2fnuz", 13, 8),
	of[Float8E8M0FNU]("float8_e8m0fnu", 14, 8),
	of[Complex32]("complex32", 5, 32),
}

func elementTypeOf(dtype C.pt2_dtype) *elementType {
	for i := range elementTypes {
		if each := &elementTypes[i]; each.code == uint8(dtype.code) && each.bits == uint8(dtype.bits) {
			return each
		}
	}
	return nil
}

// Tensor is a row-major tensor. Data is a slice of the type that belongs to its dtype: []float32,
// []bool, []complex64, []Float16, ….
type Tensor struct {
	Data  any
	Sizes []int64
}

var errElements = errors.New("pt2: the slice has not as many elements as the sizes say")

// view returns a view of the tensor's memory, which `pinner` pins.
func (t *Tensor) view(pinner *runtime.Pinner) (C.pt2_tensor_view, error) {
	var view C.pt2_tensor_view
	for _, each := range elementTypes {
		if each.slice == reflect.TypeOf(t.Data) {
			view.dtype = C.pt2_dtype{code: C.uint8_t(each.code), bits: C.uint8_t(each.bits)}
		}
	}
	if view.dtype.bits == 0 {
		return view, fmt.Errorf("pt2: tensors have no %T", t.Data)
	}
	data := reflect.ValueOf(t.Data)
	count := int64(1)
	for _, size := range t.Sizes {
		count *= size
	}
	if count != int64(data.Len()) {
		return view, errElements
	}
	if data.Len() > 0 {
		pinner.Pin(data.UnsafePointer())
		view.data = data.UnsafePointer()
	}
	if len(t.Sizes) > 0 {
		pinner.Pin(&t.Sizes[0])
		view.sizes = (*C.int64_t)(unsafe.Pointer(&t.Sizes[0]))
	}
	view.dims = C.int32_t(len(t.Sizes))
	return view, nil
}

// settle makes every bool 0 or 1, as Go needs them; a file may hold other bytes.
func (t *Tensor) settle() {
	if bools, ok := t.Data.([]bool); ok && len(bools) > 0 {
		bytes := unsafe.Slice((*uint8)(unsafe.Pointer(&bools[0])), len(bools))
		for i, each := range bytes {
			if each > 1 {
				bytes[i] = 1
			}
		}
	}
}

// tensorOf returns a row-major copy of a tensor.
func tensorOf(value *C.pt2_value) (Tensor, error) {
	var view C.pt2_tensor_view
	var rows *C.pt2_value
	if err := check(C.pt2_value_get_tensor(value, &view)); err != nil {
		return Tensor{}, err
	}
	if err := check(C.pt2_value_copy(&view, &rows)); err != nil {
		return Tensor{}, err
	}
	defer C.pt2_value_free(rows)
	if err := check(C.pt2_value_get_tensor(rows, &view)); err != nil {
		return Tensor{}, err
	}
	known := elementTypeOf(view.dtype)
	if known == nil {
		return Tensor{}, fmt.Errorf("pt2: found a result of the dtype {%d, %d}", view.dtype.code, view.dtype.bits)
	}
	tensor := Tensor{Sizes: numbers(view.sizes, view.dims)}
	count := 1
	for _, size := range tensor.Sizes {
		count *= int(size)
	}
	data := reflect.MakeSlice(known.slice, count, count)
	if count > 0 {
		bytes := count * int(known.bits) / 8
		copy(unsafe.Slice((*byte)(data.UnsafePointer()), bytes), unsafe.Slice((*byte)(view.data), bytes))
	}
	tensor.Data = data.Interface()
	tensor.settle()
	return tensor, nil
}

// numbers copies sizes.
func numbers(from *C.int64_t, count C.int32_t) []int64 {
	out := []int64{}
	if count > 0 {
		out = append(out, unsafe.Slice((*int64)(from), int(count))...)
	}
	return out
}

// valueOf returns a value that the caller frees; nil for nil.
func valueOf(from any) (*C.pt2_value, error) {
	var pinner runtime.Pinner
	defer pinner.Unpin()
	var value *C.pt2_value
	var failed *C.pt2_error
	switch given := from.(type) {
	case nil:
	case Tensor:
		view, err := given.view(&pinner)
		if err != nil {
			return nil, err
		}
		failed = C.pt2_value_copy(&view, &value)
	case int:
		failed = C.pt2_value_int(C.int64_t(given), &value)
	case int64:
		failed = C.pt2_value_int(C.int64_t(given), &value)
	case float64:
		failed = C.pt2_value_float(C.double(given), &value)
	case bool:
		truth := C.int32_t(0)
		if given {
			truth = 1
		}
		failed = C.pt2_value_bool(truth, &value)
	case string:
		text := []byte(given + "\x00")
		failed = C.pt2_value_text((*C.char)(unsafe.Pointer(&text[0])), C.size_t(len(given)), &value)
	default:
		return nil, fmt.Errorf("pt2: found a %T, expected a Tensor, int, int64, float64, bool, string or nil", from)
	}
	return value, check(failed)
}

// resultOf returns a value of Go; nil for None and for kinds that Go has no value for.
func resultOf(value *C.pt2_value) (any, error) {
	var integer C.int64_t
	var real C.double
	var truth C.int32_t
	var text *C.char
	var length C.size_t
	switch C.pt2_value_kind(value) {
	case C.PT2_VALUE_TENSOR:
		return tensorOf(value)
	case C.PT2_VALUE_INT:
		err := check(C.pt2_value_get_int(value, &integer))
		return int64(integer), err
	case C.PT2_VALUE_FLOAT:
		err := check(C.pt2_value_get_float(value, &real))
		return float64(real), err
	case C.PT2_VALUE_BOOL:
		err := check(C.pt2_value_get_bool(value, &truth))
		return truth != 0, err
	case C.PT2_VALUE_TEXT:
		err := check(C.pt2_value_get_text(value, &text, &length))
		return C.GoStringN(text, C.int(length)), err
	}
	return nil, nil
}
