// Reads the payloads of each archive layout into Payloads. A read error becomes an issue and
// reading continues with the rest, so that verify can name every fault.
#ifndef PT2_PACKAGE_PAYLOAD_READERS_H
#define PT2_PACKAGE_PAYLOAD_READERS_H

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "pt2/format/draft_types.h"
#include "pt2/format/schema.h"
#include "pt2/package.h"

namespace pt2 {

struct PayloadReading {
  const Archive& archive;
  std::string_view model;
  Payloads& payloads;
  Diagnostics& issues;
  PickleMode mode = PickleMode::strict;                                // strict or in_place
  mutable uint64_t fake_bytes = 0;                                     // bytes of zeros made so far
  mutable std::map<std::string, int, std::less<>> names_of_pickles{};  // by record
  // Bytes for copies: many names may share a pickled value, and each keeps what it consists of.
  mutable uint64_t copies_left = (uint64_t{64} << 20) + archive.zip().bytes().size();
  mutable uint64_t object_bytes_left = copies_left;  // the same for the states of objects

  void fail(Rule rule, Error error, std::string_view place) const;
  // Call it before a name's pickled record is read. Error `limit` if many names share the record:
  // it is read for each of them, and each keeps all of its values.
  Result<void> count_pickle(const std::string& record) const;
  // Takes bytes from copies_left. Error `limit`.
  Result<void> take(uint64_t bytes) const;
};

Error invalid_payload(std::string message);
// Returns sizes or strides of a tensor with bytes, which must be concrete numbers. `what` names
// them in the error.
Result<Sizes> literals(const std::vector<SymInt>& numbers, std::string_view what);

// 2.1 to 2.8: reads a dict in one torch.save record. Adds nothing if the record is absent or empty.
void read_torch_save_dict(const PayloadReading& reading, Role role, PayloadKind kind);
// 2.1: reads constants made in forward, which are inside the program's JSON.
void read_embedded_constants(const PayloadReading& reading, const Program& program);
// Gives the values of embedded constants the metadata of their payloads: schema 1 records none.
void record_embedded_constants(Program& program, const Payloads& payloads);
// 2.9 on: reads a JSON config and a raw record for each storage
// (torch/export/pt2_archive/_package.py, _load_state_dict and _load_constants).
void read_configured(const PayloadReading& reading, Role config_role, PayloadKind kind);
Result<schema::PayloadConfig> read_payload_config(const Archive& archive, const std::string& name);
// Returns a device as torch.save spells it: "cuda:0".
std::string device_text(const std::string& type, std::optional<int64_t> index);
// The inverse. The text of a pickled storage may be any.
Device device_of(std::string_view text);
// Returns the record for a config's path_name.
std::string payload_record(PayloadKind kind, std::string_view path_name);

// 8.6 to 8.11: the map from names to records, of the container or of the program itself. The reader
// reads the names of `program` that have no payload yet. All programs of a container share its map:
// with copies, memory would grow with programs times paths.
struct PayloadPaths {
  std::string place;  // "models/local.json:.tensorPaths"
  std::shared_ptr<const std::map<std::string, std::string>> paths;
};
void read_path_payloads(const PayloadReading& reading, const Program& program,
                        std::span<const PayloadPaths> maps);
// Reads the tensors of an early draft, inside the JSON or in files beside it. `place` is the
// document's place.
void read_draft_payloads(const PayloadReading& reading, const draft::GraphModule& module,
                         const std::string& place);

// Adds a tensor, or (among constants) an object, which is kept as it is; `invalid` for other
// values.
Result<void> add_pickled_value(const PickleValue& value, PayloadKind kind, std::string name,
                               std::string record, const PayloadReading& reading);

// 2.8 on: adds one object with its own record, written by torch._C._pickle_save, or by pickle.dumps
// for an opaque object.
enum class ObjectForm : uint8_t { torch_save, pickle };
void add_object_record(const PayloadReading& reading, std::string name, std::string record_name,
                       ObjectForm form = ObjectForm::torch_save);
inline bool is_opaque_object(const schema::PayloadMeta& meta) {
  return meta.path_name.starts_with("opaque_obj_");
}

}  // namespace pt2

#endif  // PT2_PACKAGE_PAYLOAD_READERS_H
