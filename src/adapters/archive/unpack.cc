// SPDX-License-Identifier: Apache-2.0
// libarchive unpacks xz, zstd and bzip2, whose libraries check what they unpack.  Its gzip reader compares
// neither length nor checksum (3.6, "TODO: verify"), so that a damaged log would be read as another log; gzip
// goes to zlib itself.
#include "adapters/archive/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace sickbay {
namespace {

using std::string_view_literals::operator""sv;

struct Kind {
  Packing packing;
  std::string_view name, magic;
  int (*filter)(archive*);  // libarchive's
};
const Kind kKinds[] = {
    {Packing::gzip, "gzip", "\x1f\x8b"sv, nullptr},
    {Packing::xz, "xz",
     "\xfd"
     "7zXZ\0"sv,
     archive_read_support_filter_xz},
    {Packing::zstd, "zstd", "\x28\xb5\x2f\xfd"sv, archive_read_support_filter_zstd},
    {Packing::bzip2, "bzip2", "BZh"sv, archive_read_support_filter_bzip2},
};

Status damaged(std::string why) {
  return fail(Error(ErrorCode::bad_input, "it is truncated or damaged").because(std::move(why)));
}

Status unpack_gzip(ByteSource& source, const ByteSink& sink) {
  z_stream z{};
  if (inflateInit2(&z, 15 + 16) != Z_OK)
    return fail(ErrorCode::os, "zlib cannot start");  // 16: gzip's frame only
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&z, inflateEnd);
  std::vector<char> out(256 * 1024);
  bool within = false;  // a member that has begun and not ended
  bool any = false;
  for (std::string_view in = source.read(); !in.empty(); in = source.read()) {
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    z.avail_in = static_cast<uInt>(in.size());
    while (z.avail_in > 0) {
      // gzip itself takes zero bytes behind a member for padding (of tapes), anything else for damage.
      if (!within && any && *z.next_in == 0) {
        ++z.next_in, --z.avail_in;
        continue;
      }
      // A gzip file may be several members one after the other: rotated logs are joined so.
      if (!within && inflateReset(&z) != Z_OK) return fail(ErrorCode::os, "zlib cannot go on");
      within = any = true;
      z.next_out = reinterpret_cast<Bytef*>(out.data());
      z.avail_out = static_cast<uInt>(out.size());
      const int code = inflate(&z, Z_NO_FLUSH);
      if (Status taken = sink({out.data(), out.size() - z.avail_out}); !taken) return taken;
      if (code == Z_STREAM_END)
        within = false;
      else if (code != Z_OK && code != Z_BUF_ERROR)
        // (Z_BUF_ERROR: no room or no input just now, which is no damage.)
        return damaged(z.msg ? z.msg : "zlib gives no reason");
    }
    // (What fits into no block more is flushed when the next one comes; at the end nothing may be left.)
    while (within && z.avail_out == 0) {
      z.next_out = reinterpret_cast<Bytef*>(out.data());
      z.avail_out = static_cast<uInt>(out.size());
      const int code = inflate(&z, Z_NO_FLUSH);
      if (Status taken = sink({out.data(), out.size() - z.avail_out}); !taken) return taken;
      if (code == Z_STREAM_END) within = false;
      if (code == Z_BUF_ERROR) break;
      if (code != Z_OK && code != Z_STREAM_END) return damaged(z.msg ? z.msg : "zlib gives no reason");
    }
  }
  if (within) return damaged("it ends in the middle");
  return {};
}

la_ssize_t give_block(archive*, void* source, const void** block) {
  const std::string_view bytes = static_cast<ByteSource*>(source)->read();
  *block = bytes.data();
  return static_cast<la_ssize_t>(bytes.size());
}

Status unpack_by_libarchive(int (*filter)(archive*), ByteSource& source, const ByteSink& sink) {
  const std::unique_ptr<archive, int (*)(archive*)> a(archive_read_new(), archive_read_free);
  if (!a) return fail(ErrorCode::os, "libarchive cannot start");
  const auto why = [&] {
    const char* text = archive_error_string(a.get());
    return std::string(text ? text : "libarchive gives no reason");
  };
  archive_read_support_format_raw(a.get());
  archive_read_support_format_empty(a.get());
  archive_entry* entry = nullptr;
  // ARCHIVE_WARN would mean that it starts a program for it: this libarchive was built without.
  if (filter(a.get()) != ARCHIVE_OK)
    return fail(Error(ErrorCode::missing_program, "this libarchive cannot unpack it").because(why()));
  if (archive_read_open(a.get(), &source, nullptr, give_block, nullptr) != ARCHIVE_OK) return damaged(why());
  const int found = archive_read_next_header(a.get(), &entry);
  // A head that is cut is none to libarchive, and the bytes would come out as they are.
  if (archive_filter_code(a.get(), 0) == ARCHIVE_FILTER_NONE) return damaged("it ends in its head");
  if (found == ARCHIVE_EOF) return {};  // packed nothing
  if (found != ARCHIVE_OK) return damaged(why());
  for (;;) {
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int code = archive_read_data_block(a.get(), &block, &size, &offset);
    if (code == ARCHIVE_EOF) return {};
    if (code != ARCHIVE_OK) return damaged(why());
    if (Status taken = sink({static_cast<const char*>(block), size}); !taken) return taken;
  }
}

}  // namespace

void ByteSource::fill(std::size_t least) {
  while (filled_ < least && !ended_) {
    const ssize_t n = ::read(fd_, block_.data() + filled_, block_.size() - filled_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) error_ = errno;
    if (n <= 0) ended_ = true;
    if (n > 0) filled_ += static_cast<std::size_t>(n);
  }
}

std::string_view ByteSource::peek() {
  // (The longest magic, that of xz, has six bytes.)
  if (!peeked_) fill(6);
  peeked_ = true;
  return {block_.data(), filled_};
}

std::string_view ByteSource::read() {
  if (peeked_) {
    peeked_ = false;
  } else {
    filled_ = 0;
    fill(1);
  }
  return {block_.data(), filled_};
}

Packing packing_of(std::string_view head) {
  for (const Kind& kind : kKinds)
    if (head.starts_with(kind.magic)) return kind.packing;
  return Packing::none;
}

std::string_view packing_name(Packing packing) {
  for (const Kind& kind : kKinds)
    if (kind.packing == packing) return kind.name;
  return "";
}

Status unpack(Packing packing, ByteSource& source, const ByteSink& sink) {
  for (const Kind& kind : kKinds)
    if (kind.packing == packing)
      return kind.filter ? unpack_by_libarchive(kind.filter, source, sink) : unpack_gzip(source, sink);
  for (std::string_view in = source.read(); !in.empty(); in = source.read())
    if (Status taken = sink(in); !taken) return taken;
  return {};
}

}  // namespace sickbay
