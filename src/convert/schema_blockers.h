// Parts of a program that a schema version cannot express.
#ifndef PT2_CONVERT_SCHEMA_BLOCKERS_H
#define PT2_CONVERT_SCHEMA_BLOCKERS_H

#include "convert/converter.h"
#include "pt2/format/schema.h"

namespace pt2 {

// Reports every field, alternative and enumerator of `program` that the release's schema lacks, by
// the versions in schema.def. Removes the decoder's traces of the file's spelling, but keeps
// unknown fields if the release ignores them. Linear.
void check_schema(schema::ExportedProgram& program, const Release& release, int version,
                  const AddBlocker& add);

// Checks a file as it is: finds only what makes the release's reader refuse it. The two long tables
// of the outermost graph may come in pieces after the outline.
class WrittenSchemaCheck {
 public:
  explicit WrittenSchemaCheck(const Release& release) : release_(release) {}
  void check_outline(schema::ExportedProgram& program);
  void check_nodes(schema::List<schema::Node>& nodes);
  void check_values(schema::Dict<schema::TensorMeta>& values);
  // Returns the blockers in the order of the whole program.
  std::vector<Blocker> take();

 private:
  struct Table {
    size_t place = 0;  // index among the blockers of the outline
    std::vector<Blocker> found{};
  };
  const Release& release_;
  std::vector<Blocker> outline_;
  Table nodes_, values_;
  size_t node_count_ = 0;
};

}  // namespace pt2

#endif  // PT2_CONVERT_SCHEMA_BLOCKERS_H
