#include "tools/files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include "base/printable.h"
#include "tools/source.h"
#include "tools/table.h"

namespace pt2::tools {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kMaxThreads = 16;

bool has_ending(const fs::path& path, std::span<const std::string_view> endings) {
  const std::string name = path.filename().string();
  return std::ranges::any_of(endings, [&](std::string_view end) { return name.ends_with(end); });
}

// True for folders whose files the kernel generates: they may be endless, and reading may block.
bool is_made_by_kernel(const fs::path& folder) {
  constexpr std::string_view kFolders[] = {"/dev", "/proc", "/sys"};
  std::error_code unknown;
  const fs::path real = fs::canonical(folder, unknown);
  return std::ranges::find(kFolders, real.generic_string()) != std::end(kFolders);
}

// Lists the files of one folder and its subfolders. Does not follow links to folders, which may
// form cycles. False if the folder cannot be read completely.
bool list_one(const fs::path& folder, std::span<const std::string_view> endings,
              std::vector<std::string>& files, std::vector<fs::path>& folders) {
  std::error_code failed, gone;
  for (fs::directory_iterator each(folder, failed), end; !failed && each != end;
       each.increment(failed)) {
    if (!each->is_symlink(gone) && each->is_directory(gone))
      folders.push_back(each->path());
    else if (has_ending(each->path(), endings) && each->is_regular_file(gone))
      files.push_back(each->path().string());
  }
  return !failed;
}

Result<void> list_folder(const std::string& folder, std::span<const std::string_view> endings,
                         std::vector<std::string>& files, Environment& environment) {
  const size_t before = files.size();
  std::vector<fs::path> folders{folder}, closed;
  while (!folders.empty()) {
    const fs::path next = std::move(folders.back());
    folders.pop_back();
    if (next != folder && is_made_by_kernel(next)) continue;
    if (!list_one(next, endings, files, folders)) closed.push_back(next);
  }
  if (!closed.empty() && closed.front() == folder)
    return Error{ErrorCode::io, "the folder cannot be read", folder};
  if (!closed.empty())
    print_warning(environment,
                  fmt::format("{} in {} cannot be read, as {}", counted(closed.size(), "folder"),
                              printable(folder), printable(closed.front().string())));
  if (files.size() == before)
    return Error{
        ErrorCode::argument,
        fmt::format("the folder {} has no file that ends in {}", folder, fmt::join(endings, ", ")),
        ""};
  std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
  return {};
}

class ProgressLine {
 public:
  ProgressLine(size_t count, Environment& environment)
      : count_(count),
        file_(environment.err_is_terminal && count > 1 ? environment.err : nullptr) {}
  ~ProgressLine() {
    if (file_ != nullptr) print(file_, "\r\x1b[K");
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void step() {
    if (file_ == nullptr) return;
    const std::lock_guard lock(mutex_);
    print(file_, fmt::format("\r{} of {} files", ++done_, count_));
    std::fflush(file_);
  }

 private:
  size_t count_;
  std::FILE* file_;
  std::mutex mutex_;
  size_t done_ = 0;
};

}  // namespace

Result<std::vector<std::string>> list_files(std::span<const std::string> names,
                                            std::span<const std::string_view> endings,
                                            Environment& environment) {
  PT2_TRY_VOID(check_one_standard_input(names));
  const std::set<std::string_view> named(names.begin(), names.end());
  std::vector<std::string> files;
  for (const std::string& name : names) {
    std::error_code unknown;
    if (name == "-" || !fs::is_directory(name, unknown)) {
      files.push_back(name);
      continue;
    }
    std::vector<std::string> listed;
    PT2_TRY_VOID(list_folder(name, endings, listed, environment));
    std::ranges::copy_if(listed, std::back_inserter(files),
                         [&](const std::string& file) { return !named.contains(file); });
  }
  return files;
}

void for_each_file(size_t count, Environment& environment,
                   const std::function<void(size_t)>& work) {
  ProgressLine progress(count, environment);
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  // An exception that leaves a thread ends the process, so memory that is missing is the caller's.
  const auto take = [&] {
    try {
      for (size_t i = next++; i < count; i = next++) {
        work(i);
        progress.step();
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
      next = count;
    }
  };
  const size_t wanted = std::clamp(std::thread::hardware_concurrency(), 1u, kMaxThreads);
  {
    std::vector<std::jthread> threads;
    try {
      for (size_t i = 1; i < std::min(wanted, count); ++i) threads.emplace_back(take);
    } catch (const std::system_error&) {  // no more threads, and fewer suffice
    }
    take();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace pt2::tools
