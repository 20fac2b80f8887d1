// What a program says that a schema version cannot express.
#ifndef PT2_CONVERT_SCHEMA_BLOCKERS_H
#define PT2_CONVERT_SCHEMA_BLOCKERS_H

#include "convert/converter.h"
#include "pt2/format/schema.h"

namespace pt2 {

// Reports every field, alternative and enumerator of `program` that the release's schema lacks, by
// the versions in schema.def. Removes the decoder's notes on the file's spelling; unknown fields
// stay where the release ignores them. Linear.
void check_schema(schema::ExportedProgram& program, const Release& release, int version,
                  const AddBlocker& add);
// The same for a file as it is: reports only what makes the release's reader refuse it.
void check_schema_as_written(schema::ExportedProgram& program, const Release& release,
                             const AddBlocker& add);

}  // namespace pt2

#endif  // PT2_CONVERT_SCHEMA_BLOCKERS_H
