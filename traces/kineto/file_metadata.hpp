// Metadata of a recording beside its events: rank, machine, time origin.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace foreshard::traces::kineto {

class FileMetadata {
 public:
  void use(std::string_view key, std::string_view json);

  std::int64_t base_ns() const { return base_ns_; }
  std::optional<std::int32_t> rank() const { return rank_; }
  std::int32_t world_size() const { return world_size_; }
  const std::string& host() const { return host_; }
  // The name of that device, or of the only one.
  std::string device(std::int64_t id) const;
  // Versions and the like, as they are.
  const std::map<std::string, std::string>& other() const { return other_; }

 private:
  void use_distributed(std::string_view json);
  void use_devices(std::string_view json);

  std::int64_t base_ns_ = 0;
  std::optional<std::int32_t> rank_;
  std::int32_t world_size_ = 0;
  std::string host_;
  std::map<std::int64_t, std::string> devices_;
  std::map<std::string, std::string> other_;
};

}  // namespace foreshard::traces::kineto
