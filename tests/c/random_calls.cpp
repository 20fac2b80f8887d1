#include "c/random_calls.h"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>
#include <vector>

#include "c/dlpack_abi.h"
#include "pt2/c/pt2.h"

namespace pt2::test {
namespace {

constexpr size_t kMaxHandles = 24;
constexpr size_t kBytes = 1 << 14;

// A bounded set of live handles. Adding one frees the oldest if it is full. Sometimes returns NULL.
template <class T>
class Pool {
 public:
  explicit Pool(void (*free)(T*)) : free_(free) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (T* each : handles_) free_(each);
  }
  void add(T* handle) {
    if (handle == nullptr) return;
    handles_.push_back(handle);
    if (handles_.size() > kMaxHandles) drop(0);
  }
  void drop(size_t index) {
    if (index >= handles_.size()) return;
    free_(handles_[index]);
    handles_.erase(handles_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  T* pick(uint64_t number) const {
    const size_t index = number % (handles_.size() + 1);
    return index == handles_.size() ? nullptr : handles_[index];
  }
  size_t size() const { return handles_.size(); }

 private:
  void (*free_)(T*);
  std::vector<T*> handles_;
};

// A random tensor view over a buffer that is large enough for every view that the library accepts.
struct RandomView {
  std::array<int64_t, 6> sizes{};
  std::array<int64_t, 6> strides{};
  pt2_tensor_view view{};
};

class Caller {
 public:
  Caller(uint64_t seed, std::string models) : random_(seed), models_(std::move(models)) {}

  RandomCalls run(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) step();
    return counts_;
  }

 private:
  uint64_t number() { return random_(); }
  bool chance(uint64_t of) { return number() % of == 0; }
  template <class T, size_t N>
  T one_of(const std::array<T, N>& all) {
    return all[number() % N];
  }

  void count(pt2_error* error) {
    ++(error == nullptr ? counts_.succeeded : counts_.failed);
    if (error != nullptr && chance(50)) {
      size_t length = 0;
      pt2_error_message(error, &length);
      pt2_error_place(error, nullptr);
      pt2_error_text(error, &length);
      pt2_error_name(error);
      pt2_error_code(error);
    }
    pt2_error_free(error);
  }
  // Returns the address of an out parameter or, sometimes, NULL.
  template <class T>
  T* out(T& place) {
    return chance(20) ? nullptr : &place;
  }

  std::string text() {
    static const std::array<std::string, 14> kTexts = {"",
                                                       "model",
                                                       "x",
                                                       "image",
                                                       "total",
                                                       "torch-2.6",
                                                       "newest",
                                                       "oldest",
                                                       "guards,metadata",
                                                       "max_work=5",
                                                       "max_json_depth=1",
                                                       "weight",
                                                       std::string(2000, 'a'),
                                                       std::string("a\0b", 3)};
    return one_of(kTexts);
  }
  std::string path() {
    static const std::array<std::string, 8> kNames = {
        "mlp.pt2",         "buffer_mutation.pt2", "symint_io.pt2", "dim_auto.pt2",
        "package_two.pt2", "kwargs_inputs.pt2",   "missing.pt2",   "constant_inputs.pt2"};
    return chance(30) ? text() : models_ + one_of(kNames);
  }

  // Returns options whose size, members and tail may be wrong. They lie in a larger block, like the
  // options of a program for a newer library.
  template <class T>
  const T* options(T filled) {
    static_assert(sizeof(T) <= 256);
    if (chance(3)) return nullptr;
    block_.fill(0);
    filled.size = chance(6) ? number() % sizeof(block_) : sizeof(T);
    if (chance(40)) filled.size = static_cast<size_t>(number());
    std::copy_n(reinterpret_cast<const char*>(&filled), sizeof(T), block_.data());
    if (chance(10)) block_[sizeof(T) + number() % 64] = 1;
    return reinterpret_cast<const T*>(block_.data());
  }
  template <class T>
  T answer() {
    T out{};
    out.size = chance(10) ? number() % sizeof(T) : sizeof(T);
    return out;
  }

  RandomView random_view() {
    static constexpr std::array<int64_t, 12> kSizes = {0, 1, 1, 2,  3,         4,
                                                       8, 5, 7, -1, INT64_MAX, INT64_MIN};
    RandomView out;
    out.view.dims = static_cast<int32_t>(number() % 6);
    for (size_t i = 0; i < out.sizes.size(); ++i) {
      out.sizes[i] = kSizes[number() % (chance(10) ? kSizes.size() : 9)];
      out.strides[i] = kSizes[number() % (chance(10) ? kSizes.size() : 9)];
    }
    static constexpr std::array<pt2_dtype, 12> kDtypes = {{{2, 32},
                                                           {2, 32},
                                                           {2, 32},
                                                           {0, 64},
                                                           {6, 8},
                                                           {5, 64},
                                                           {4, 16},
                                                           {1, 8},
                                                           {2, 31},
                                                           {9, 9},
                                                           {2, 64},
                                                           {0, 32}}};
    out.view.dtype = one_of(kDtypes);
    out.view.data = chance(20) ? nullptr : bytes_.data() + (chance(20) ? number() % 64 : 0);
    out.view.read_only = chance(2);
    if (chance(30)) out.view.dims = static_cast<int32_t>(number());
    if (bytes_needed(out) > kBytes - 64) out.view.data = nullptr;
    return out;
  }
  // Returns the bytes that a view covers. The caller of the library promises that this memory
  // exists, so larger views get no data.
  static double bytes_needed(const RandomView& view) {
    double last = 1, all = 1;
    for (int32_t i = 0; i < view.view.dims && i < 6; ++i) {
      const auto at = static_cast<size_t>(i);
      last += static_cast<double>(std::max<int64_t>(view.sizes[at], 1) - 1) *
              static_cast<double>(std::max<int64_t>(view.strides[at], 0));
      all *= static_cast<double>(std::max<int64_t>(view.sizes[at], 1));
    }
    return std::max(last, all) * 16;
  }
  void point(RandomView& view) {
    view.view.sizes = chance(60) ? nullptr : view.sizes.data();
    view.view.strides = chance(2) ? nullptr : view.strides.data();
  }

  void step() {
    switch (number() % 9) {
      case 0:
        return open_something();
      case 1:
      case 2:
        return make_value();
      case 3:
        return look_at_value();
      case 4:
        return look_at_model();
      case 5:
        return use_session();
      case 6:
        return run();
      case 7:
        return use_decoder();
      default:
        return chance(4) ? drop_something() : look_at_package();
    }
  }

  pt2_load_options load_options() {
    limits_ = chance(4) ? text() : "";
    program_ = chance(8) ? text() : "";
    return {.program = program_.data(),
            .program_length = program_.size(),
            .limits = limits_.data(),
            .limits_length = limits_.size(),
            .operators = operators_.pick(number()),
            .engine = static_cast<int32_t>(chance(10) ? number() : number() % 2),
            .log = nullptr,
            .user = nullptr};
  }

  // Opens a file, rarely: opening costs a thousand times as much as other calls.
  void open_something() {
    if (!chance(20) && packages_.size() > 3 && models_made_.size() > 3) return use_session();
    const std::string from = path();
    pt2_package* package = nullptr;
    pt2_model* model = nullptr;
    const pt2_load_options given = load_options();
    if (chance(2)) {
      count(pt2_package_open(from.data(), from.size(), options(given), out(package)));
    } else if (chance(2)) {
      count(pt2_model_load(from.data(), from.size(), options(given), out(model)));
    } else if (chance(8)) {
      count(pt2_package_open_memory(chance(9) ? nullptr : bytes_.data(), number() % kBytes, "m", 1,
                                    nullptr, nullptr, options(given), out(package)));
    } else if (chance(2)) {
      count(pt2_model_from_package(packages_.pick(number()), options(given), out(model)));
    } else {
      count(pt2_model_load_memory(chance(9) ? nullptr : bytes_.data(), number() % kBytes, "m", 1,
                                  nullptr, nullptr, options(given), out(model)));
    }
    packages_.add(package);
    models_made_.add(model);
  }

  void make_value() {
    pt2_value* made = nullptr;
    RandomView view = random_view();
    point(view);
    const pt2_value* items[3] = {values_.pick(number()), values_.pick(number()),
                                 values_.pick(number())};
    const std::string content = text();
    switch (number() % 14) {
      case 10:
        count(pt2_value_none(out(made)));
        break;
      case 11:
        count(pt2_value_complex(static_cast<double>(number()), 0.5, out(made)));
        break;
      case 12:
        made = through_dlpack(items[0]);
        break;
      case 0:
        count(pt2_value_int(static_cast<int64_t>(number()), out(made)));
        break;
      case 1:
        count(pt2_value_float(static_cast<double>(number()), out(made)));
        break;
      case 2:
        count(pt2_value_text(content.data(), content.size(), out(made)));
        break;
      case 3:
        count(pt2_value_list(items, number() % 4, out(made)));
        break;
      case 4:
        count(pt2_value_share(items[0], out(made)));
        break;
      case 5:
        count(pt2_value_get_item(items[0], number() % 4, out(made)));
        break;
      case 6:
        count(pt2_value_copy(chance(30) ? nullptr : &view.view, out(made)));
        break;
      case 7:
        count(pt2_value_bool(static_cast<int32_t>(number()), out(made)));
        break;
      default:
        count(pt2_value_borrow(chance(30) ? nullptr : &view.view, nullptr, nullptr, out(made)));
    }
    values_.add(made);
  }

  pt2_value* through_dlpack(const pt2_value* value) {
    DLManagedTensorVersioned* tensor = nullptr;
    pt2_value* made = nullptr;
    count(pt2_value_to_dlpack(value, out(tensor)));
    if (tensor != nullptr && chance(4)) tensor->version.major = static_cast<uint32_t>(number());
    if (tensor != nullptr && chance(4)) tensor->dl_tensor.device.device_type = 2;
    count(pt2_value_from_dlpack(tensor, out(made)));
    if (made == nullptr && tensor != nullptr) tensor->deleter(tensor);
    return made;
  }

  void look_at_value() {
    const pt2_value* value = values_.pick(number());
    pt2_tensor_view view{};
    int64_t integer = 0;
    double real = 0, imaginary = 0;
    int32_t truth = 0;
    const char* content = nullptr;
    pt2_text* type = nullptr;
    pt2_value_kind(value);
    pt2_value_count(value);
    switch (number() % 7) {
      case 6:
        return count(pt2_value_get_float(value, out(real)));
      case 0:
        return count(pt2_value_get_tensor(value, out(view)));
      case 1:
        return count(pt2_value_get_int(value, out(integer)));
      case 2:
        return count(pt2_value_get_complex(value, out(real), out(imaginary)));
      case 3:
        return count(pt2_value_get_bool(value, out(truth)));
      case 4:
        return count(pt2_value_get_text(value, out(content), nullptr));
      default:
        count(pt2_value_type(value, out(type)));
        pt2_text_data(type, nullptr);
        pt2_text_free(type);
    }
  }

  void look_at_model() {
    const pt2_model* model = models_made_.pick(number());
    const size_t index = chance(3) ? static_cast<size_t>(number()) : number() % 4;
    const std::string name = text();
    pt2_place place = answer<pt2_place>();
    size_t found = 0;
    pt2_model_argument_count(model);
    pt2_model_state_count(model);
    pt2_model_argument_name(model, index, nullptr);
    pt2_model_argument_tree(model, index, &found);
    pt2_model_result_tree(model, nullptr);
    pt2_model_state_name(model, index, nullptr);
    if (chance(3)) return count(pt2_model_find_input(model, name.data(), name.size(), out(found)));
    count(chance(2) ? pt2_model_get_input(model, index, out(place))
                    : pt2_model_get_output(model, index, out(place)));
  }

  void use_session() {
    pt2_session* session = sessions_.pick(number());
    pt2_session* made = nullptr;
    pt2_value* state = nullptr;
    RandomView view = random_view();
    point(view);
    const pt2_model* model = models_made_.pick(number());
    size_t length = 0;
    const char* known = pt2_model_state_name(model, number() % 3, &length);
    const std::string name = known != nullptr && !chance(5) ? std::string(known, length) : text();
    switch (number() % 6) {
      case 0:
        count(pt2_session_create(
            model,
            options(pt2_session_options{
                .threads = static_cast<uint32_t>(chance(9) ? number() : number() % 3)}),
            out(made)));
        break;
      case 1:
        count(pt2_session_fork(session, out(made)));
        break;
      case 2:
        count(pt2_session_seed(session, number()));
        break;
      case 3:
        count(pt2_session_get_state(session, name.data(), name.size(), out(state)));
        break;
      case 4:
        count(pt2_session_set_state(session, name.data(), name.size(), &view.view));
        break;
      default:
        count(pt2_session_observe(session, chance(2) ? nullptr : refuse_sometimes, &random_));
    }
    sessions_.add(made);
    values_.add(state);
  }

  static pt2_error* refuse_sometimes(const pt2_observed* observed, void* user) {
    auto& random = *static_cast<std::mt19937_64*>(user);
    if (random() % 4 != 0 || observed->value == nullptr) return nullptr;
    return pt2_error_create(static_cast<int32_t>(random() % 14), "no", 2);
  }

  // Returns a tensor of the recorded sizes. Half of the runs use such inputs.
  pt2_value* fitting(const pt2_model* model, size_t index) {
    pt2_place place{.size = sizeof(pt2_place)};
    pt2_error* error = pt2_model_get_input(model, index, &place);
    pt2_error_free(error);
    pt2_value* made = nullptr;
    if (error != nullptr) return made;
    int64_t sizes[8] = {};
    const int32_t dims = std::min(place.dims, 8);
    for (int32_t i = 0; i < dims; ++i) sizes[i] = place.sizes[i] < 0 ? 4 : place.sizes[i];
    const pt2_tensor_view view{
        .data = bytes_.data(), .sizes = sizes, .dims = dims, .dtype = place.dtype};
    if (place.is_tensor != 0) pt2_error_free(pt2_value_copy(&view, &made));
    return made;
  }

  pt2_call_options call_options() {
    return {.stop = chance(4) ? stops_.pick(number()) : nullptr,
            .timeout_ns = static_cast<int64_t>(chance(9) ? number() : 0)};
  }

  void run() {
    const pt2_model* model = models_made_.pick(number());
    pt2_session* session = nullptr;
    pt2_session* picked = sessions_.pick(number());
    if (chance(2)) {
      pt2_error_free(pt2_session_create(model, nullptr, &session));
      picked = session;
    }
    size_t inputs = pt2_model_input_count(model), outputs = pt2_model_output_count(model);
    if (chance(8)) inputs = number() % 5;
    if (chance(8)) outputs = number() % 5;
    std::vector<pt2_value*> made(inputs);
    std::vector<const pt2_value*> given(inputs);
    for (size_t i = 0; i < inputs; ++i) {
      made[i] = fitting(model, i);
      given[i] = chance(8) ? values_.pick(number()) : made[i];
    }
    std::vector<pt2_value*> results(outputs);
    const pt2_call_options call = call_options();
    const uint64_t kind = number() % 8;
    if (chance(30)) {
      const std::string nowhere = models_ + "missing/trace.npz";
      count(pt2_session_trace(picked, given.data(), inputs, nowhere.data(), nowhere.size()));
    } else if (kind == 0) {
      run_views(picked, inputs, outputs, call);
    } else if (kind == 1) {
      std::vector<pt2_value*> shared(outputs);
      for (pt2_value*& each : shared) each = chance(2) ? values_.pick(number()) : nullptr;
      const std::vector<pt2_value*> before = shared;
      count(pt2_session_run_into(picked, given.data(), inputs, options(call), shared.data(),
                                 outputs));
      for (size_t i = 0; i < outputs; ++i)
        if (shared[i] != before[i]) results[i] = shared[i];
    } else {
      count(pt2_session_run(picked, chance(30) ? nullptr : given.data(), inputs, options(call),
                            chance(30) ? nullptr : results.data(), outputs));
    }
    for (pt2_value* each : results) values_.add(each);
    for (pt2_value* each : made) pt2_value_free(each);
    pt2_session_free(session);
  }

  void run_views(pt2_session* session, size_t inputs, size_t outputs,
                 const pt2_call_options& call) {
    std::vector<RandomView> views(inputs + outputs);
    std::vector<pt2_tensor_view> plain;
    for (RandomView& each : views) {
      each = random_view();
      point(each);
      plain.push_back(each.view);
    }
    count(pt2_session_run_views(session, plain.data(), inputs, plain.data() + inputs, outputs,
                                options(call)));
  }

  // Calls functions of decoders. Rarely opens a folder, or a model that is no decoder.
  void use_decoder() {
    const std::array<int64_t, 4> ids = {static_cast<int64_t>(number() % 64), 1,
                                        static_cast<int64_t>(chance(20) ? number() : 3), 4};
    pt2_decoder* decoder = decoders_.pick(number());
    pt2_decoder* opened = nullptr;
    pt2_value* made = nullptr;
    int32_t reason = 0;
    const pt2_call_options call = call_options();
    pt2_decoder_position(decoder);
    pt2_decoder_capacity(decoder);
    const std::array<size_t, 2> counts = {number() % 3, number() % 3};
    const std::string_view name = chance(2) ? "input_ids" : "attention_mask";
    const pt2_named_value given{name.data(), chance(4) ? number() % name.size() : name.size(),
                                values_.pick(number())};
    std::array<pt2_value*, 2> texts{};
    switch (number() % (chance(100) ? 6 : 5)) {
      case 3:
        count(pt2_decoder_give(decoder, chance(9) ? nullptr : &given, number() % 2, options(call)));
        break;
      case 4:
        count(pt2_decoder_generate_batch(
            decoder, chance(30) ? nullptr : ids.data(), chance(30) ? nullptr : counts.data(),
            number() % 3, options(pt2_generate_options{.max_new_tokens = 2}),
            chance(2) ? nullptr : &call, chance(30) ? nullptr : texts.data(), nullptr));
        break;
      case 0:
        count(pt2_decoder_feed(decoder, chance(30) ? nullptr : ids.data(), number() % 5,
                               options(call), out(made)));
        break;
      case 1:
        count(pt2_decoder_generate(
            decoder, chance(30) ? nullptr : ids.data(), number() % 5,
            options(pt2_generate_options{
                .max_new_tokens = static_cast<int64_t>(number() % 6) - 1,
                .has_sampling = chance(2),
                .temperature = chance(9) ? -1.0 : 0.5,
                .top_k = static_cast<int64_t>(chance(9) ? number() : number() % 9),
                .top_p = chance(9) ? 7.0 : 0.5,
                .stop_ids = chance(2) ? nullptr : ids.data(),
                .stop_count = number() % 3,
                .token = [](int64_t token, void*) { return token % 5 == 0 ? 1 : 0; }}),
            chance(2) ? nullptr : &call, out(made), chance(2) ? nullptr : &reason));
        break;
      case 2:
        count(pt2_decoder_reset(decoder));
        break;
      default: {
        const std::string from = chance(4) ? path()
                                           : models_ + "../../decoders/" +
                                                 one_of(std::array{"dynamic", "static", "encoder"});
        count(pt2_decoder_open(
            from.data(), from.size(),
            options(pt2_decoder_options{
                .operators = operators_.pick(number()),
                .engine = static_cast<int32_t>(number() % 3),
                .threads = static_cast<uint32_t>(chance(9) ? number() : number() % 3),
                .cache_length = static_cast<int64_t>(chance(9) ? number() : number() % 99)}),
            out(opened)));
      }
    }
    for (pt2_value* each : texts) values_.add(each);
    decoders_.add(opened);
    values_.add(made);
  }

  void look_at_package() {
    const pt2_package* package = packages_.pick(number());
    const std::string name = chance(2) ? "" : text();
    const std::string losses = chance(2) ? "" : text();
    pt2_text* made = nullptr;
    pt2_conversion* conversion = nullptr;
    pt2_findings* findings = nullptr;
    pt2_blocker blocker = answer<pt2_blocker>();
    pt2_finding finding = answer<pt2_finding>();
    pt2_package_program_name(package, number() % 3, nullptr);
    pt2_package_program_count(package);
    const std::string from = path();
    switch (number() % 12) {
      case 5:
        if (chance(8))
          count(pt2_verify(from.data(), from.size(), options(pt2_verify_options{}), out(findings)));
        break;

      case 0:
        count(pt2_package_json(package, name.data(), name.size(), chance(2), out(made)));
        break;
      case 1:
        count(pt2_package_dis(package, name.data(), name.size(), chance(2), out(made)));
        break;
      case 2:
        count(pt2_package_missing_operators(package, name.data(), name.size(),
                                            operators_.pick(number()), out(made)));
        break;
      case 3:
        if (chance(8))
          count(pt2_convert(package, name.data(), name.size(), losses.data(), losses.size(),
                            out(conversion)));
        break;
      case 4:
        count(pt2_verify_memory(
            bytes_.data(), number() % kBytes, "m", 1,
            options(pt2_verify_options{.up_to = static_cast<int32_t>(number() % 8)}),
            out(findings)));
        break;
      default:
        count(pt2_operators_add(operators_.pick(number()), name.data(), name.size(), nullptr,
                                nullptr, nullptr));
    }
    const std::string nowhere = models_ + "missing/converted.pt2";
    pt2_conversion_release(conversion, nullptr);
    pt2_conversion_loss_count(conversion);
    pt2_conversion_blocker_count(conversion);
    count(pt2_conversion_get_blocker(conversion, number() % 3, out(blocker)));
    count(pt2_conversion_get_loss(conversion, number() % 3, out(blocker)));
    count(pt2_conversion_save(conversion, nowhere.data(), nowhere.size()));
    pt2_findings_count(findings);
    pt2_findings_has_errors(findings);
    count(pt2_findings_get(findings, number() % 3, out(finding)));
    pt2_text_free(made);
    pt2_conversion_free(conversion);
    pt2_findings_free(findings);
  }

  void drop_something() {
    pt2_operators* operators = nullptr;
    pt2_stop* stop = nullptr;
    switch (number() % 8) {
      case 5:
        count(pt2_stop_create(out(stop)));
        if (chance(4)) pt2_stop_request(stop);
        return stops_.add(stop);
      case 6:
        return stops_.drop(number() % kMaxHandles);
      case 0:
        return values_.drop(number() % kMaxHandles);
      case 1:
        return sessions_.drop(number() % kMaxHandles);
      case 2:
        return chance(20) ? models_made_.drop(number() % kMaxHandles) : void();
      case 3:
        return chance(20) ? packages_.drop(number() % kMaxHandles) : void();
      case 4:
        return chance(20) ? decoders_.drop(number() % kMaxHandles) : void();
      default:
        count(pt2_operators_create(out(operators)));
        operators_.add(operators);
    }
  }

  std::mt19937_64 random_;
  std::string models_;
  RandomCalls counts_;
  alignas(64) std::array<std::byte, kBytes> bytes_{};
  alignas(64) std::array<char, 512> block_{};
  std::string limits_;
  std::string program_;
  Pool<pt2_package> packages_{pt2_package_free};
  Pool<pt2_model> models_made_{pt2_model_free};
  Pool<pt2_session> sessions_{pt2_session_free};
  Pool<pt2_value> values_{pt2_value_free};
  Pool<pt2_operators> operators_{pt2_operators_free};
  Pool<pt2_decoder> decoders_{pt2_decoder_free};
  Pool<pt2_stop> stops_{pt2_stop_free};
};

}  // namespace

RandomCalls make_random_calls(uint64_t seed, uint64_t count, const std::string& models) {
  return Caller(seed, models).run(count);
}

}  // namespace pt2::test
