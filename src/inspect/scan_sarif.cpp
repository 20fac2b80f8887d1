#include <fmt/format.h>

#include "base/json.h"
#include "inspect/hazard.h"
#include "pt2/tools/scan.h"

namespace pt2 {
namespace {

constexpr std::string_view kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

class SarifWriter {
 public:
  std::string write(std::span<const ScanReport> reports) {
    object("", [&] {
      text("$schema", kSchema);
      text("version", "2.1.0");
      array("runs", [&] {
        object("", [&] {
          object("tool", [&] { object("driver", [&] { driver(); }); });
          array("results", [&] {
            for (const ScanReport& report : reports)
              for (const ScanFinding& finding : report.findings) result(report, finding);
          });
        });
      });
    });
    return json_.take() + "\n";
  }

 private:
  void driver() {
    text("name", "pt2 scan");
    array("rules", [&] {
      for (const HazardInfo& hazard : hazards())
        object("", [&] {
          text("id", hazard.code());
          text("name", hazard.name());
          message("shortDescription", hazard.title());
          message("fullDescription", hazard.why());
          message("help", hazard.remedy);
          object("defaultConfiguration", [&] { text("level", severity_name(hazard.level)); });
        });
    });
  }

  void result(const ScanReport& report, const ScanFinding& finding) {
    object("", [&] {
      text("ruleId", finding.hazard->code());
      text("level", severity_name(finding.hazard->level));
      message("message", fmt::format("{}. To do: {}", finding.text, finding.hazard->remedy));
      array("locations", [&] {
        object("", [&] {
          object("physicalLocation",
                 [&] { object("artifactLocation", [&] { text("uri", uri(report.file)); }); });
          array("logicalLocations",
                [&] { object("", [&] { text("fullyQualifiedName", place(finding)); }); });
        });
      });
    });
  }

  static std::string place(const ScanFinding& finding) {
    const std::string node = finding.node.text();
    return node.empty() ? finding.where : fmt::format("{} at {}", finding.where, node);
  }

  // RFC 3986: escapes everything but unreserved characters and the slash.
  static std::string uri(std::string_view path) {
    std::string out;
    for (const char c : path) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || std::string_view("-._~/").find(c) != path.npos;
      out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
  }

  void text(std::string_view key, std::string_view value) {
    json_.key(key);
    json_.string(value);
  }
  void message(std::string_view key, std::string_view value) {
    object(key, [&] { text("text", value); });
  }
  template <class Write>
  void object(std::string_view key, Write&& members) {
    if (!key.empty()) json_.key(key);
    json_.begin_object();
    members();
    json_.end_object();
  }
  template <class Write>
  void array(std::string_view key, Write&& items) {
    json_.key(key);
    json_.begin_array();
    items();
    json_.end_array();
  }

  JsonWriter json_{JsonStyle::pretty};
};

}  // namespace

std::string scan_sarif(std::span<const ScanReport> reports) { return SarifWriter().write(reports); }

}  // namespace pt2
