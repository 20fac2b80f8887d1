#include "corpus_operators.h"

#include "pt2/ops/plugin.h"

PT2_PLUGIN(operators) { return pt2::test::add_corpus_operators(operators); }
