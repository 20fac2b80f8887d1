#include "pt2/ir/argument.h"

namespace pt2 {

Argument::Argument() = default;
Argument::Argument(const Argument&) = default;
Argument::Argument(Argument&&) noexcept = default;
Argument& Argument::operator=(const Argument&) = default;
Argument& Argument::operator=(Argument&&) noexcept = default;
Argument::~Argument() = default;

template <class T>
requires AlternativeOf<T, Argument::Variant> Argument::Argument(T value, Wrapper wrapped)
    : variant(std::move(value)), wrapper(wrapped) {}
template Argument::Argument(None, Wrapper);
template Argument::Argument(ValueId, Wrapper);
template Argument::Argument(bool, Wrapper);
template Argument::Argument(int64_t, Wrapper);
template Argument::Argument(double, Wrapper);
template Argument::Argument(std::complex<double>, Wrapper);
template Argument::Argument(std::string, Wrapper);
template Argument::Argument(ScalarType, Wrapper);
template Argument::Argument(MemoryFormat, Wrapper);
template Argument::Argument(Layout, Wrapper);
template Argument::Argument(Device, Wrapper);
template Argument::Argument(OperatorName, Wrapper);
template Argument::Argument(SubgraphId, Wrapper);
template Argument::Argument(CustomObject, Wrapper);
template Argument::Argument(ArgumentList, Wrapper);
template Argument::Argument(ArgumentMap, Wrapper);
template Argument::Argument(UnknownArgument, Wrapper);
Argument::Argument(const char* value, Wrapper wrapped) : Argument(std::string(value), wrapped) {}

}  // namespace pt2
