// make_seeds TEST_DATA CORPUS: writes the seed inputs of each fuzz target to CORPUS/TARGET/.
#include "seeds.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (const pt2::test::SeedSet& set : pt2::test::kSeedSets) {
    std::filesystem::path folder = std::filesystem::path(argv[2]) / set.target;
    std::filesystem::create_directories(folder);
    size_t number = 0;
    for (const pt2::test::Bytes& seed : set.make(argv[1])) {
      std::ofstream file(folder / ("seed" + std::to_string(number++)), std::ios::binary);
      file.write(reinterpret_cast<const char*>(seed.data()),
                 static_cast<std::streamsize>(seed.size()));
    }
  }
}
