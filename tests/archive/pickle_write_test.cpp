#include "pt2/format/pickle_write.h"

#include <fmt/format.h>

#include "archive/test_files.h"

namespace pt2 {
namespace {

std::string saved(const Pickle& pickle, TorchSaveFormat format = TorchSaveFormat::v1) {
  StringSink sink;
  const Result<void> done = write_torch_save(pickle, sink, format);
  EXPECT_TRUE(done) << done.error().text();
  return sink.take();
}

Record record_of(std::string bytes) { return make_record(std::move(bytes)); }

Pickle reread(const Pickle& pickle) {
  return read_torch_save(record_of(saved(pickle)), PickleMode::listing).value();
}

std::string pickled(const Pickle& pickle) { return write_pickle(pickle).value().bytes; }

// Returns the first record of a torch.save file.
std::string_view data_pkl(const Record& record, Diagnostics& findings) {
  const ZipReader zip = ZipReader::open(record.bytes, record.owner, {}, findings).value();
  return zip.read(zip.entries().front()).value().text();
}

TEST(WritePickle, GivesTheBytesOfPyTorch) {
  size_t same = 0;
  for (const std::string& path : test::corpus_files()) {
    const Archive archive = Archive::open(path).value();
    for (const Entry& entry : archive.zip().entries()) {
      const Record record = archive.zip().read(entry).value();
      const bool custom = archive.role(entry).role == Role::custom_object;
      if (!record.text().starts_with("PK\x03\x04") || custom) continue;
      SCOPED_TRACE(path + "!" + entry.name);
      const Pickle pickle = read_torch_save(record, PickleMode::listing).value();
      Diagnostics findings;
      const std::string_view expected = data_pkl(record, findings);
      if (expected.substr(1, 1) != "\x02") continue;
      const Result<PickledBytes> written = write_pickle(pickle);
      ASSERT_TRUE(written) << written.error().text();
      EXPECT_EQ(written->bytes, expected);
      const bool newer = record.text().find("archive/.format_version") != record.text().npos;
      EXPECT_TRUE(saved(pickle, newer ? TorchSaveFormat::v1 : TorchSaveFormat::v0) ==
                  record.text());
      ++same;
    }
  }
  RecordProperty("same", static_cast<int>(same));
  EXPECT_GT(same, 500u);
}

// Expected texts: pickle.dumps(value, 2) of Python 3.11.
struct WrittenValue {
  const char* name;
  PickleValue (*make)(PickleBuilder& builder);
  std::string expected;
};

class Written : public testing::TestWithParam<WrittenValue> {};

TEST_P(Written, LooksAsPythonWritesIt) {
  PickleBuilder builder;
  const PickleValue value = GetParam().make(builder);
  EXPECT_EQ(pickled(builder.finish(value)), "\x80\x02" + GetParam().expected + ".");
}

std::string bytes_of(const char* text, size_t size) { return {text, size}; }
#define BYTES(text) bytes_of(text, sizeof(text) - 1)

const WrittenValue kWrittenValues[] = {
    {"none", [](PickleBuilder& b) -> PickleValue { return b.none(); }, BYTES("N")},
    {"truth", [](PickleBuilder& b) -> PickleValue { return b.boolean(true); }, BYTES("\x88")},
    {"byte", [](PickleBuilder& b) -> PickleValue { return b.integer(255); }, BYTES("K\xff")},
    {"two_bytes", [](PickleBuilder& b) -> PickleValue { return b.integer(256); },
     BYTES("M\x00\x01")},
    {"four_bytes", [](PickleBuilder& b) -> PickleValue { return b.integer(65536); },
     BYTES("J\x00\x00\x01\x00")},
    {"negative", [](PickleBuilder& b) -> PickleValue { return b.integer(-1); },
     BYTES("J\xff\xff\xff\xff")},
    {"long_integer", [](PickleBuilder& b) -> PickleValue { return b.integer(2147483648); },
     BYTES("\x8a\x05\x00\x00\x00\x80\x00")},
    {"long_negative", [](PickleBuilder& b) -> PickleValue { return b.integer(-2147483649); },
     BYTES("\x8a\x05\xff\xff\xff\x7f\xff")},
    {"smallest", [](PickleBuilder& b) -> PickleValue { return b.integer(INT64_MIN); },
     BYTES("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80")},
    {"floating", [](PickleBuilder& b) -> PickleValue { return b.floating(-1.5); },
     BYTES("G\xbf\xf8\x00\x00\x00\x00\x00\x00")},
    {"complex_number", [](PickleBuilder& b) -> PickleValue { return b.complex(1, -2); },
     BYTES("c__builtin__"
           "\ncomplex\nq\x00G\x3f\xf0\x00\x00\x00\x00\x00\x00G\xc0\x00\x00\x00\x00\x00\x00\x00\x86q"
           "\x01Rq\x02")},
    {"text",
     [](PickleBuilder& b) -> PickleValue {
       return b.string(
           "n\xc3\xa4"
           "me");
     },
     BYTES("X\x05\x00\x00\x00n\xc3\xa4meq\x00")},
    {"bytes", [](PickleBuilder& b) -> PickleValue { return b.bytes("a\xff"); },
     BYTES("c_codecs\nencode\nq\x00X\x03\x00\x00\x00"
           "a\xc3\xbfq\x01X\x06\x00\x00\x00latin1q\x02\x86q\x03Rq\x04")},
    {"no_bytes", [](PickleBuilder& b) -> PickleValue { return b.bytes(""); },
     BYTES("c__builtin__\nbytes\nq\x00)Rq\x01")},
    {"empty_tuple",
     [](PickleBuilder& b) -> PickleValue { return b.sequence(PickleKind::tuple, {}); }, BYTES(")")},
    {"list_of_one",
     [](PickleBuilder& b) -> PickleValue { return b.sequence(PickleKind::list, {{b.integer(7)}}); },
     BYTES("]q\x00K\x07"
           "a")},
    {"tuple_of_four",
     [](PickleBuilder& b) -> PickleValue {
       const PickleValue x = b.string("x");
       return b.sequence(PickleKind::tuple, {{x, b.none(), x, b.boolean(false)}});
     },
     BYTES("(X\x01\x00\x00\x00xq\x00Nh\x00\x89tq\x01")},
    {"set",
     [](PickleBuilder& b) -> PickleValue { return b.sequence(PickleKind::set, {{b.integer(1)}}); },
     BYTES("c__builtin__\nset\nq\x00]q\x01K\x01"
           "a\x85q\x02Rq\x03")},
    {"deque",
     [](PickleBuilder& b) -> PickleValue {
       return b.sequence(PickleKind::deque, {{b.integer(1), b.integer(2)}});
     },
     BYTES("ccollections\ndeque\nq\x00)Rq\x01(K\x01K\x02"
           "e")},
    {"size",
     [](PickleBuilder& b) -> PickleValue {
       return b.sequence(PickleKind::size, {{b.integer(2), b.integer(3)}});
     },
     BYTES("ctorch\nSize\nq\x00K\x02K\x03\x86q\x01\x85q\x02Rq\x03")},
    {"dict_of_one",
     [](PickleBuilder& b) -> PickleValue {
       return b.dict(PickleKind::dict, {{{b.integer(1), b.none()}}});
     },
     BYTES("}q\x00K\x01Ns")},
    {"ordered_dict",
     [](PickleBuilder& b) -> PickleValue {
       return b.dict(PickleKind::ordered_dict,
                     {{{b.integer(1), b.none()}, {b.integer(2), b.none()}}});
     },
     BYTES("ccollections\nOrderedDict\nq\x00)Rq\x01(K\x01NK\x02Nu")},
};

INSTANTIATE_TEST_SUITE_P(Values, Written, testing::ValuesIn(kWrittenValues),
                         [](const auto& each) { return std::string(each.param.name); });

PickleValue numbers(PickleBuilder& builder, PickleKind kind, int64_t count) {
  std::vector<PickleValue> items;
  for (int64_t i = 0; i < count; ++i) items.push_back(builder.integer(i));
  return builder.sequence(kind, items);
}

// Returns the MARK and batch opcodes of a pickle.
std::string batches(const Pickle& pickle) {
  std::string found;
  const std::string bytes = pickled(pickle);
  for (size_t i = 2; i < bytes.size(); ++i) {
    const char code = bytes[i];
    if (code == 'K') i += 1;
    if (code == 'M') i += 2;
    if (code == 'q') i += 1;
    if (code == 'c') i = bytes.find('\n', bytes.find('\n', i) + 1);
    if (std::string_view("(aesu").find(code) != std::string_view::npos) found += code;
  }
  return found;
}

TEST(WritePickle, WritesBatchesAsPythonDoes) {
  const auto sequence = [](PickleKind kind, int64_t count) {
    PickleBuilder builder;
    const PickleValue root = numbers(builder, kind, count);
    return batches(builder.finish(root));
  };
  const auto dict = [](PickleKind kind, int64_t count) {
    PickleBuilder builder;
    std::vector<PickleBuilder::Pair> pairs;
    for (int64_t i = 0; i < count; ++i) pairs.emplace_back(builder.integer(i), builder.integer(i));
    const PickleValue root = builder.dict(kind, pairs);
    return batches(builder.finish(root));
  };
  EXPECT_EQ(sequence(PickleKind::list, 1000), "(e");
  EXPECT_EQ(sequence(PickleKind::list, 1001), "(e(e");
  EXPECT_EQ(sequence(PickleKind::deque, 1000), "(e");
  EXPECT_EQ(sequence(PickleKind::deque, 1001), "(ea");
  EXPECT_EQ(dict(PickleKind::dict, 1000), "(u(u");
  EXPECT_EQ(dict(PickleKind::dict, 1001), "(u(u");
  EXPECT_EQ(dict(PickleKind::ordered_dict, 1000), "(u");
  EXPECT_EQ(dict(PickleKind::ordered_dict, 1001), "(us");
}

TEST(WritePickle, NumbersMoreThan256Values) {
  PickleBuilder builder;
  std::vector<PickleValue> items;
  for (int i = 0; i < 300; ++i) items.push_back(builder.string(std::to_string(i)));
  items.push_back(items[299]);
  const PickleValue root = builder.sequence(PickleKind::list, items);
  const Pickle read = reread(builder.finish(root));
  EXPECT_EQ(read.root()[299].text(), "299");
  EXPECT_TRUE(read.root()[299].same_as(read.root()[300]));
}

// The root is the tuple (l, 2) with the list l = [1, (l, 2)], so both contain each other.
TEST(WritePickle, WritesValuesThatHoldThemselves) {
  const std::string bytes = BYTES(
      "\x80\x02]q\x00(K\x01h\x00K\x02\x86q\x01"
      "eK\x02"
      "00h\x01.");
  const StorageLoader none = [](std::string_view, size_t,
                                uint64_t) -> Result<std::shared_ptr<Storage>> {
    return Error{ErrorCode::corrupt, "no storage", ""};
  };
  const Pickle pickle =
      read_pickle(std::as_bytes(std::span(bytes)), PickleMode::strict, none).value();
  EXPECT_TRUE(pickle.root()[0][1].same_as(pickle.root()));
  EXPECT_EQ(pickled(pickle), bytes);
}

// Copied values are shared by, and contained in, the same values as before.
TEST(WritePickle, CopiesValuesOfAnotherPickle) {
  using namespace std::string_literals;
  const std::string bytes =
      "\x80\x02]q\0(]q\x01h\x01h\0"s
      "ccollections\nOrderedDict\nq\x02)Rq\x03X\x01\0\0\0kq\x04h\x01se."s;
  const auto none = [](std::string_view, size_t, uint64_t) -> Result<std::shared_ptr<Storage>> {
    return Error{ErrorCode::invalid, "no storages", {}};
  };
  const Pickle pickle =
      read_pickle(std::as_bytes(std::span(bytes)), PickleMode::strict, none).value();
  PickleBuilder builder;
  const PickleValue copied = builder.copy(pickle.root());
  const Pickle copy = builder.finish(copied);
  EXPECT_TRUE(copy.root()[2].same_as(copy.root()));
  EXPECT_TRUE(copy.root()[0].same_as(copy.root()[1]));
  EXPECT_EQ(pickled(copy), bytes);
}

TEST(WritePickle, WritesCallsAndObjects) {
  PickleBuilder builder;
  const PickleValue one = builder.integer(1);
  const PickleValue list = builder.sequence(PickleKind::list, {{one}});
  const PickleValue made = builder.call("torch.jit._pickle.build_intlist", {&list, 1});
  const PickleValue root = builder.object("__torch__.Mine", made);
  const Pickle read = reread(builder.finish(root));
  ASSERT_TRUE(read.root().is(PickleKind::object));
  EXPECT_EQ(read.root().text(), "__torch__.Mine");
  EXPECT_FALSE(read.root().is_called());
  ASSERT_EQ(read.root().size(), 1u);
  ASSERT_TRUE(read.root()[0].is(PickleKind::list));
  EXPECT_EQ(read.root()[0][0].as_int(), 1);
}

// A pickle may name any device.
TEST(WritePickle, KeepsTheTextsOfDevices) {
  using namespace std::string_literals;
  for (const std::string text : {"cuda:1", "cpu", "cuda:", "cuda:x", "a:b:1"}) {
    const std::string bytes = "ctorch\ndevice\nX" + std::string(1, static_cast<char>(text.size())) +
                              "\0\0\0"s + text + "\x85R.";
    const Pickle pickle =
        read_pickle(std::as_bytes(std::span(bytes)), PickleMode::strict, {}).value();
    EXPECT_EQ(reread(pickle).root().text(), text);
  }
}

TEST(WritePickle, CountsWhatItCopies) {
  PickleBuilder from;
  const PickleValue text = from.string(std::string(1000, 'x'));
  const Pickle pickle = from.finish(from.sequence(PickleKind::list, {{text, text}}));
  PickleBuilder builder;
  builder.copy(pickle.root());
  const uint64_t once = builder.copied_bytes();
  EXPECT_GE(once, 1000u);
  EXPECT_LT(once, 2000u);
  builder.copy(pickle.root());
  EXPECT_EQ(builder.copied_bytes(), 2 * once);
}

TEST(WritePickle, StopsAtTheDepthLimit) {
  const auto nested = [](int depth) {
    PickleBuilder builder;
    PickleValue value = builder.integer(1);
    for (int i = 0; i < depth; ++i) value = builder.sequence(PickleKind::list, {{value}});
    return builder.finish(value);
  };
  EXPECT_TRUE(write_pickle(nested(999)));
  const Result<PickledBytes> deep = write_pickle(nested(1000));
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().text(), "nested deeper than max_pickle_depth 1000");
}

TEST(WriteTorchSave, WritesASharedStorageOnce) {
  PickleBuilder builder;
  const Tensor whole = Tensor::from<float>(Dtype::float32, {4}, {{1, 2, 3, 4}});
  const Tensor half = whole.with_view({2}, {1}, 2);
  PickleTensor parameter;
  parameter.tensor = half;
  parameter.is_parameter = true;
  parameter.requires_grad = true;
  PickleTensor small;
  small.tensor = Tensor::from<uint16_t>(Dtype::uint16, {2}, {{5, 6}});
  small.device = "cuda:0";
  const PickleBuilder::Pair pairs[] = {
      {builder.string("whole"), builder.tensor({.tensor = whole})},
      {builder.string("half"), builder.tensor(parameter)},
      {builder.string("small"), builder.tensor(small)},
  };
  const PickleValue root = builder.dict(PickleKind::ordered_dict, pairs);
  const Record record = record_of(saved(builder.finish(root)));
  Diagnostics findings;
  const ZipReader zip = ZipReader::open(record.bytes, record.owner, {}, findings).value();
  EXPECT_NE(zip.find("archive/data/0"), nullptr);
  EXPECT_EQ(zip.find("archive/data/1")->size, 4u);
  EXPECT_EQ(zip.find("archive/data/2"), nullptr);
  const Pickle read = read_torch_save(record, PickleMode::strict).value();
  EXPECT_TRUE(read.root().is(PickleKind::ordered_dict));
  const PickleTensor& first = read.root().value(0).tensor();
  const PickleTensor& second = read.root().value(1).tensor();
  EXPECT_EQ(first.tensor.storage(), second.tensor.storage());
  EXPECT_EQ(second.tensor.as<float>()[1], 4);
  EXPECT_TRUE(second.is_parameter && second.requires_grad);
  EXPECT_FALSE(first.is_parameter || first.requires_grad);
  EXPECT_EQ(read.root().value(2).tensor().device, "cuda:0");
  EXPECT_EQ(read.root().value(2).tensor().tensor.as<uint16_t>()[1], 6);
}

TEST(WriteTorchSave, RefusesTensorsWithoutElements) {
  PickleBuilder builder;
  const PickleValue root = builder.tensor({.missing = "layout torch.sparse_coo"});
  StringSink sink;
  const Result<void> done = write_torch_save(builder.finish(root), sink);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::unsupported);
  EXPECT_EQ(done.error().text(),
            "a tensor without its elements (layout torch.sparse_coo) cannot be pickled here");
}

}  // namespace
}  // namespace pt2
