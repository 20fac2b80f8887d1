#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "archive/crc32.h"
#include "archive/zip_directory.h"
#include "base/printable.h"
#include "pt2/format/zip.h"

namespace pt2 {
namespace {

// Small enough that progress moves, large enough that the calls cost nothing.
constexpr size_t kChunk = 4 << 20;

class CrcCheck {
 public:
  CrcCheck(const ZipReader& zip, const Progress& progress)
      : zip_(zip), progress_(progress), order_(zip.entries().size()) {
    findings_.resize(order_.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    // The longest entries first, so that no thread ends alone with a long one.
    std::ranges::stable_sort(order_, std::greater{},
                             [&](size_t i) { return zip.entries()[i].size; });
    for (const Entry& entry : zip.entries()) total_ += entry.size;
  }

  void run(unsigned threads) {
    threads = static_cast<unsigned>(
        std::min<size_t>(std::max(threads, 1u), std::max<size_t>(order_.size(), 1)));
    std::vector<std::thread> others;
    for (unsigned i = 1; i < threads; ++i) others.emplace_back([this] { work(); });
    work();
    for (std::thread& other : others) other.join();
  }

  void report(Diagnostics& diagnostics) const {
    for (size_t i = 0; i < findings_.size(); ++i)
      if (findings_[i])
        diagnostics.add(Rule::entry_checksum, printable(zip_.entries()[i].name), *findings_[i]);
  }

 private:
  void work() {
    for (size_t next = next_++; next < order_.size(); next = next_++) {
      const Entry& entry = zip_.entries()[order_[next]];
      const Result<void> checked = entry.deflated ? zip_.check_crc(entry) : check_stored(entry);
      if (entry.deflated) advance(entry.size);
      if (!checked) findings_[order_[next]] = checked.error().message;
    }
  }

  Result<void> check_stored(const Entry& entry) {
    std::span<const std::byte> rest = zip_.bytes().subspan(entry.data_offset, entry.size);
    uint32_t crc = 0;
    while (!rest.empty()) {
      const std::span<const std::byte> chunk = rest.first(std::min(rest.size(), kChunk));
      crc = crc32(crc, chunk);
      advance(chunk.size());
      rest = rest.subspan(chunk.size());
    }
    return zip::compare_crc(entry, crc);
  }

  void advance(uint64_t bytes) {
    if (!progress_) return;
    const std::lock_guard lock(mutex_);
    done_ += bytes;
    progress_(done_, total_);
  }

  const ZipReader& zip_;
  const Progress& progress_;
  std::vector<size_t> order_;
  std::vector<std::optional<std::string>> findings_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  uint64_t done_ = 0;
  uint64_t total_ = 0;
};

}  // namespace

void check_all_crcs(const ZipReader& zip, Diagnostics& diagnostics, unsigned threads,
                    const Progress& progress) {
  CrcCheck check(zip, progress);
  check.run(threads);
  check.report(diagnostics);
}

}  // namespace pt2
