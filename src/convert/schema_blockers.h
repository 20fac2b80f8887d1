// What a program says that a schema version has no words for.
#ifndef PT2_CONVERT_SCHEMA_BLOCKERS_H
#define PT2_CONVERT_SCHEMA_BLOCKERS_H

#include "convert/converter.h"
#include "pt2/schema.h"

namespace pt2 {

// Every field, alternative and enumerator of `program` that the release's schema does not have, by
// the versions in schema.def. Removes what the decoder noted about the file's spelling; unknown
// fields stay where the release ignores them. Linear.
void check_schema(schema::ExportedProgram& program, const Release& release, int version,
                  const AddBlocker& add);
// The same for a file as it is: what the release's reader stops at.
void check_schema_as_written(schema::ExportedProgram& program, const Release& release,
                             const AddBlocker& add);

}  // namespace pt2

#endif  // PT2_CONVERT_SCHEMA_BLOCKERS_H
