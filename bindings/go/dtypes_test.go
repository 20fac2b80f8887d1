package pt2

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

const models = "../../tests/data/bindings/"

// bytesOf returns the memory of the slice.
func bytesOf(slice any) []byte {
	value := reflect.ValueOf(slice)
	return unsafe.Slice((*byte)(value.UnsafePointer()), value.Len()*int(value.Type().Elem().Size()))
}

func zeros(known elementType) Tensor {
	return Tensor{reflect.MakeSlice(known.slice, 6, 6).Interface(), []int64{3, 2}}
}

// The program transposes one input of each dtype.
func TestEveryDtype(t *testing.T) {
	model, err := Load(models + "dtypes.pt2")
	if err != nil {
		t.Fatal(err)
	}
	session, _ := model.NewSession()
	places, err := model.Inputs()
	if err != nil || len(places) != len(elementTypes) {
		t.Fatal(len(places), err)
	}
	var inputs, outputs []Tensor
	var given []any
	for _, place := range places {
		for _, known := range elementTypes {
			if known.name != place.Dtype || known.name != place.Name {
				continue
			}
			input := zeros(known)
			input.Sizes = []int64{2, 3}
			for i := range bytesOf(input.Data) {
				bytesOf(input.Data)[i] = byte(7*i + 1)
				if known.name == "bool" {
					bytesOf(input.Data)[i] = byte(i % 2)
				}
			}
			inputs, outputs, given = append(inputs, input), append(outputs, zeros(known)), append(given, input)
		}
	}
	if err := session.Run(inputs, outputs); err != nil {
		t.Fatal(err)
	}
	results, err := session.Call(given...)
	if err != nil {
		t.Fatal(err)
	}
	for at, output := range outputs {
		width := len(bytesOf(output.Data)) / 6
		var want []byte
		for _, i := range []int{0, 3, 1, 4, 2, 5} {
			want = append(want, bytesOf(inputs[at].Data)[width*i:width*(i+1)]...)
		}
		if !bytes.Equal(bytesOf(output.Data), want) || !bytes.Equal(bytesOf(results[at].(Tensor).Data), want) {
			t.Error(places[at], output, want)
		}
		if reflect.TypeOf(results[at].(Tensor).Data) != reflect.TypeOf(output.Data) {
			t.Errorf("%s: found %T", places[at].Name, results[at].(Tensor).Data)
		}
	}
	given[11] = Tensor{make([]uint8, 6), []int64{2, 3}}
	var refused *Error
	if _, err := session.Call(given...); !errors.As(err, &refused) || refused.Place != "input 'bool'" {
		t.Fatal(err)
	}
	if _, err := session.Call(Tensor{make([]int, 6), []int64{6}}); err == nil || !strings.Contains(err.Error(), "[]int") {
		t.Fatal(err)
	}
}

func TestManyTensors(t *testing.T) {
	model, err := Load(models + "many.pt2")
	if err != nil {
		t.Fatal(err)
	}
	session, _ := model.NewSession()
	given := []any{Tensor{[]float32{}, []int64{0}}}
	want := []any{Tensor{[]bool{}, []int64{0}}}
	for i := 0; i < 70; i++ {
		given = append(given, Tensor{[]float32{float32(i)}, []int64{}})
		want = append(want, Tensor{[]float32{float32(i)}, []int64{}})
	}
	if results, err := session.Call(given...); err != nil || !reflect.DeepEqual(results, want) {
		t.Fatal(results, err)
	}
}

func TestOtherValues(t *testing.T) {
	model, err := LoadWith(models+"values.pt2", Options{Limits: "max_work=1000000", Reference: true, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	session, _ := model.NewSession()
	x := Tensor{[]float32{0, 2, 3}, []int64{3}}
	results, err := session.Call(x, 4, true, "é")
	want := []any{Tensor{[]int64{1, 2}, []int64{2, 1}}, int64(5), 0.5, true, nil,
		Tensor{[]float32{0, 8, 12}, []int64{3}}}
	if err != nil || !reflect.DeepEqual(results, want) {
		t.Fatal(results, err)
	}
	total, err := session.State("total")
	if names := model.StateNames(); err != nil || !reflect.DeepEqual(names, []string{"total"}) ||
		!reflect.DeepEqual(total, x) {
		t.Fatal(names, total, err)
	}
	if err := session.SetState("total", Tensor{[]float32{1, 1, 1}, []int64{3}}); err != nil {
		t.Fatal(err)
	}
	if results, err = session.Call(x, 2, true, "é"); err != nil ||
		!reflect.DeepEqual(results[5].(Tensor).Data, []float32{2, 6, 8}) {
		t.Fatal(results, err)
	}
	if err := session.SetState("total", Tensor{[]float64{1, 1, 1}, []int64{3}}); err == nil {
		t.Fatal("found no error")
	}
	if _, err := session.State("other"); err == nil {
		t.Fatal("found no error")
	}
	if err := session.Seed(1); err != nil {
		t.Fatal(err)
	}
	inputs, _ := model.Inputs()
	outputs, err := model.Outputs()
	if err != nil || inputs[1].IsTensor || outputs[0].Sizes[0] != -1 || outputs[0].Maximum[0] != 3 ||
		outputs[0].Dtype != "int64" {
		t.Fatal(inputs, outputs, err)
	}
	var refused *Error
	if _, err := session.Call(x, 4, true, "é\x00"); !errors.As(err, &refused) || refused.Place != "input 'name'" {
		t.Fatal(err)
	}
	if _, err := session.Call(x, 4, true, 'c'); err == nil {
		t.Fatal("found no error")
	}
	model.Close()
	model.Close()
	if _, err := session.Call(x, int64(math.MaxInt64-1), true, "é"); err != nil {
		t.Fatal(err)
	}
	session.Close()
	if _, err := session.Call(x, 4, true, "é"); err == nil {
		t.Fatal("found no error")
	}
	if _, err := model.NewSession(); err == nil {
		t.Fatal("found no error")
	}
	if _, err := LoadWith(models+"values.pt2", Options{Program: "other"}); err == nil {
		t.Fatal("found no error")
	}
	if _, err := LoadWith(models+"values.pt2", Options{Limits: "max_fun=1"}); err == nil {
		t.Fatal("found no error")
	}
}
