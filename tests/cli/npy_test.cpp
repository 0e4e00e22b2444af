#include "npy.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cornerturn::cli {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// A file with this dict, padded as numpy pads it, followed by `data_bytes` zeros.
std::string file_with(std::string_view dict, std::size_t data_bytes, int major = 1) {
  std::string text{dict};
  const std::size_t front = major == 1 ? 10 : 12;
  while ((front + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string file{"\x93NUMPY", 6};
  file += static_cast<char>(major);
  file += '\0';
  for (std::size_t k = 0; k < (major == 1 ? 2U : 4U); ++k) file += static_cast<char>(text.size() >> (8 * k) & 0xFF);
  return file + text + std::string(data_bytes, '\0');
}

npy_header parsed(const std::string& file) {
  return parse_npy_header(bytes_of(file), static_cast<std::int64_t>(file.size()));
}

std::string sentence(const std::string& file) {
  try {
    static_cast<void>(parsed(file));
  } catch (const npy_error& fault) {
    return fault.what();
  }
  return "accepted";
}

std::string dict_of(std::string_view descr, std::string_view shape, std::string_view order = "False") {
  return "{'descr': " + std::string(descr) + ", 'fortran_order': " + std::string(order) +
         ", 'shape': " + std::string(shape) + ", }";
}

#define EXPECT_SENTENCE(file, part)                                    \
  do {                                                                 \
    const std::string said = sentence(file);                           \
    EXPECT_NE(said.find(part), std::string::npos) << "said: " << said; \
  } while (false)

TEST(npy_file_bytes, is_known_when_the_header_is_complete) {
  for (const int major : {1, 2, 3}) {
    const std::string file = file_with(dict_of("'<f4'", "(3, 5)"), 60, major);
    for (std::size_t n = 0; n <= file.size(); ++n) {
      const auto found = npy_file_bytes(bytes_of(std::string_view(file).substr(0, n)));
      if (n < file.size() - 60) {
        EXPECT_EQ(found, std::nullopt) << n;
      } else {
        EXPECT_EQ(found, static_cast<std::int64_t>(file.size())) << n;
      }
    }
  }
  EXPECT_EQ(npy_file_bytes(bytes_of("P")), 0);
  EXPECT_EQ(npy_file_bytes(bytes_of("\x93NUMPX")), 0);
  EXPECT_EQ(npy_file_bytes(bytes_of(file_with("{", 0))), 0);
  EXPECT_EQ(npy_file_bytes(bytes_of(file_with(dict_of("'|u1'", "(9223372036854775807,)"), 0))), INT64_MAX);
}

TEST(npy_header, reads_what_numpy_writes) {
  for (const int major : {1, 2, 3}) {
    const npy_header header = parsed(file_with(dict_of("'<f4'", "(3, 5)", "True"), 60, major));
    EXPECT_EQ(header.major, major);
    EXPECT_EQ(header.descr, "'<f4'");
    EXPECT_EQ(header.itemsize, 4);
    EXPECT_TRUE(header.fortran_order);
    EXPECT_EQ(header.shape, (std::vector<std::int64_t>{3, 5}));
    EXPECT_EQ(header.data_offset % 64, 0);
    EXPECT_EQ(header.data_bytes, 60);
  }
}

TEST(npy_header, reads_what_others_write) {
  EXPECT_EQ(parsed(file_with("{'shape':(2L,),'descr':\"<f8\",'fortran_order':False}", 16)).data_bytes, 16);
  EXPECT_EQ(parsed(file_with("{u'descr': u'|u1', 'fortran_order': False, 'shape': [2, 3]}", 6)).data_bytes, 6);
  EXPECT_EQ(parsed(file_with("  {\n'descr':'f4',\t'fortran_order' : False , 'shape' : ( ) , }  ", 4)).shape.size(), 0U);
  EXPECT_EQ(parsed(file_with("{'descr':'\\x3cf4', 'fortran_order': False, 'shape': (+1,)}", 4)).itemsize, 4);
}

TEST(npy_header, empty_and_scalar_arrays) {
  EXPECT_EQ(parsed(file_with(dict_of("'<f4'", "()"), 4)).data_bytes, 4);
  EXPECT_EQ(parsed(file_with(dict_of("'<f4'", "(0,)"), 0)).data_bytes, 0);
  // An array without elements, so an overflow in the product of the other extents is harmless.
  EXPECT_EQ(parsed(file_with(dict_of("'<f4'", "(9223372036854775807, 0, 9223372036854775807)"), 0)).data_bytes, 0);
  EXPECT_EQ(parsed(file_with(dict_of("'|S0'", "(7,)"), 0)).itemsize, 0);
}

TEST(npy_header, item_sizes) {
  EXPECT_EQ(npy_itemsize("'|b1'"), 1);
  EXPECT_EQ(npy_itemsize("'>i2'"), 2);
  EXPECT_EQ(npy_itemsize("'<f2'"), 2);
  EXPECT_EQ(npy_itemsize("'<f16'"), 16);
  EXPECT_EQ(npy_itemsize("'<c8'"), 8);
  EXPECT_EQ(npy_itemsize("'<c32'"), 32);
  EXPECT_EQ(npy_itemsize("'<U10'"), 40);
  EXPECT_EQ(npy_itemsize("'|S7'"), 7);
  EXPECT_EQ(npy_itemsize("'|V12'"), 12);
  EXPECT_EQ(npy_itemsize("'<M8[ns]'"), 8);
  EXPECT_EQ(npy_itemsize("'<m8[25s]'"), 8);
  EXPECT_EQ(npy_itemsize("'float32'"), 4);
  EXPECT_EQ(npy_itemsize("'d'"), 8);
  EXPECT_EQ(npy_itemsize("[('x', '<f4'), ('y', '>i2', (3,)), ('', '|V2')]"), 12);
  EXPECT_EQ(npy_itemsize("[(('title', 'x'), '<f4'), ('in', [('a', '|u1'), ('b', '<f8', (2, 2))])]"), 37);
  EXPECT_EQ(npy_itemsize("[('x', ('<f4', (2, 3)))]"), 24);
  EXPECT_EQ(npy_itemsize("[]"), 0);
}

TEST(npy_header, item_sizes_that_do_not_exist) {
  for (const char* descr : {"'<f3'",
                            "'<i5'",
                            "'<z4'",
                            "''",
                            "'<'",
                            "'<f'x",
                            "'f4,i2'",
                            "'<U-1'",
                            "'<M8[ns'",
                            "'<M4'",
                            "'<i'4",
                            "3",
                            "None",
                            "[3]",
                            "[('x',)]",
                            "[('x', '<f4', 'y')]",
                            "[(3, '<f4')]",
                            "[('x', '<f4', (-1,))]",
                            "'<V99999999999999999999'",
                            "'<U9223372036854775807'",
                            "[('x', '|V9223372036854775807'), ('y', '|V1')]",
                            "[('x', '<f8', (4294967296, 4294967296))]",
                            "(('<f4',),)"}) {
    EXPECT_THROW(static_cast<void>(npy_itemsize(descr)), npy_error) << descr;
  }
}

TEST(npy_header, not_an_npy_file) {
  EXPECT_SENTENCE("", "the file is empty");
  EXPECT_SENTENCE("PK\x03\x04 and so on", "is no .npy file, but a zip archive");
  EXPECT_SENTENCE("\x93NUM", "begins with 93 4e 55 4d");
}

TEST(npy_header, unknown_version) {
  std::string file = file_with(dict_of("'<f4'", "(1,)"), 4);
  file[6] = 4;
  EXPECT_SENTENCE(file, "format version is 4.0, wanted 1.0, 2.0 or 3.0");
  file[6] = 1;
  file[7] = 1;
  EXPECT_SENTENCE(file, "format version is 1.1");
  file[6] = 0;
  EXPECT_SENTENCE(file, "format version is 0.1");
}

TEST(npy_header, every_truncation_of_a_file_has_a_sentence) {
  for (const int major : {1, 2, 3}) {
    const std::string file = file_with(dict_of("'<f4'", "(3, 5)"), 60, major);
    for (std::size_t size = 0; size < file.size(); ++size) {
      EXPECT_NE(sentence(file.substr(0, size)), "accepted") << size;
    }
    EXPECT_EQ(sentence(file), "accepted");
  }
}

TEST(npy_header, length_that_lies) {
  std::string file = file_with(dict_of("'<f4'", "(3, 5)"), 60);
  file[9] = 0x7F;
  EXPECT_SENTENCE(file, "header length is 32630, but only 178 bytes follow it in the file");
  file = file_with(dict_of("'<f4'", "(3, 5)"), 60);
  file[8] = 20;  // ends in the middle of the dict
  EXPECT_SENTENCE(file, "malformed header: found the end");
  file = file_with(dict_of("'<f4'", "(3, 5)"), 60, 2);
  file[11] = 0x7F;
  EXPECT_SENTENCE(file, "header length is");
  file = file_with(dict_of("'<f4'", "(3, 5)"), 60);
  file[8] = static_cast<char>(file[8] + 4);  // takes data for header
  EXPECT_SENTENCE(file, "found byte 0x00");
}

TEST(npy_header, data_of_another_size) {
  EXPECT_SENTENCE(
      file_with(dict_of("'<f4'", "(3, 5)"), 59),
      "truncated data: 59 bytes of data after the header, wanted 60 for shape (3, 5) with elements of 4 bytes");
  EXPECT_SENTENCE(file_with(dict_of("'<f4'", "(3,)"), 13), "trailing data: 13 bytes");
}

TEST(npy_header, malformed_dict) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "found the end"},
      {"[1, 2]", "found [1, 2], wanted a dict"},
      {"{", "wanted a Python literal"},
      {"{'descr' '<f4'}", "wanted \":\" after a dict key"},
      {"{'descr': '<f4' 'shape': (1,)}", "wanted \",\" or \"}\" after a dict value"},
      {"{'descr': '<f4", "wanted the closing quote of a string"},
      {"{'descr': '<f4', 'fortran_order': false, 'shape': (1,)}", "found \"f\""},
      {"{'descr': __import__('os'), }", "found \"_\""},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "wanted the end of the header"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1.0,)}", "wanted an integer"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", "wanted \",\" or \")\""},
      {"{'descr': '\\xZZ'}", "wanted a hexadecimal digit"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-,)}", "wanted a digit"},
  };
  for (const auto& [dict, part] : cases) EXPECT_SENTENCE(file_with(dict, 4), part);
}

TEST(npy_header, depth_is_bounded) {
  EXPECT_SENTENCE(file_with("{'descr': " + std::string(20000, '['), 0), "nested deeper than 32");
  EXPECT_SENTENCE(file_with("{'descr': " + std::string(20000, '('), 0), "nested deeper than 32");
  EXPECT_SENTENCE(file_with("{'descr': " + std::string(20000, '{'), 0), "nested deeper than 32");
}

TEST(npy_header, keys) {
  EXPECT_SENTENCE(file_with("{'fortran_order': False, 'shape': (1,)}", 4), "no key 'descr'");
  EXPECT_SENTENCE(file_with("{'descr': '<f4', 'shape': (1,)}", 4), "no key 'fortran_order'");
  EXPECT_SENTENCE(file_with("{'descr': '<f4', 'fortran_order': False}", 4), "no key 'shape'");
  EXPECT_SENTENCE(file_with("{}", 4), "no key 'descr'");
  EXPECT_SENTENCE(file_with("{'descr': '<f4', 'descr': '<f4'}", 4), "the key 'descr' twice");
  EXPECT_SENTENCE(file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", 4), "has the key 'x'");
  EXPECT_SENTENCE(file_with("{3: 4}", 4), "has the key 3");
}

TEST(npy_header, fields) {
  EXPECT_SENTENCE(file_with(dict_of("'|O'", "(1,)"), 8), "object dtype");
  EXPECT_SENTENCE(file_with(dict_of("[('x', '|O')]", "(1,)"), 8), "object dtype");
  EXPECT_SENTENCE(file_with(dict_of("'<f4'", "(1,)", "0"), 4), "'fortran_order' is 0, wanted True or False");
  EXPECT_SENTENCE(file_with(dict_of("'<f4'", "(1,)", "'False'"), 4), "'fortran_order' is 'False'");
  EXPECT_SENTENCE(file_with(dict_of("'<f4'", "(3, -4)"), 4), "'shape[1]' is -4, wanted an integer >= 0");
  EXPECT_SENTENCE(file_with(dict_of("'<f4'", "(3)"), 12), "'shape' is (3), wanted a tuple of integers");
  EXPECT_SENTENCE(file_with(dict_of("'<f4'", "('3',)"), 12), "'shape[0]' is '3', wanted an integer");
  EXPECT_SENTENCE(file_with(dict_of("'<f4'", "(True,)"), 4), "'shape[0]' is True, wanted an integer");
  EXPECT_SENTENCE(file_with(dict_of("'<f4'", "(9223372036854775808,)"), 4), "wanted an integer below 2^63");
  EXPECT_SENTENCE(file_with(dict_of("'<f4'", "(4294967296, 4294967296)"), 4),
                  "wanted an array of fewer than 2^63 bytes");
  EXPECT_SENTENCE(file_with(dict_of("'<f4'", "(2305843009213693952,)"), 4), "wanted an array of fewer than 2^63 bytes");
}

TEST(npy_header, control_characters_do_not_reach_the_terminal) {
  const std::string said = sentence(file_with(dict_of("'\x1b[31m'", "(1,)"), 4));
  EXPECT_EQ(said.find('\x1b'), std::string::npos) << said;
}

TEST(npy_header_bytes, reads_back_the_same) {
  for (const int major : {1, 2, 3}) {
    for (const char* descr : {"'<f4'", "[('x', '<i2'), ('y', '|S3')]"}) {
      for (const std::vector<std::int64_t>& shape :
           {std::vector<std::int64_t>{}, {3}, {3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}) {
        npy_header header;
        header.major = major;
        header.descr = descr;
        header.shape = shape;
        header.fortran_order = major == 2;
        std::int64_t data = npy_itemsize(descr);
        for (const std::int64_t extent : shape) data *= extent;
        const std::string text = npy_header_bytes(header);
        EXPECT_EQ(text.size() % 64, 0U);
        const npy_header again = parse_npy_header(bytes_of(text), static_cast<std::int64_t>(text.size()) + data);
        EXPECT_EQ(again.major, major);
        EXPECT_EQ(again.descr, descr);
        EXPECT_EQ(again.shape, shape);
        EXPECT_EQ(again.fortran_order, header.fortran_order);
        EXPECT_EQ(again.data_offset, static_cast<std::int64_t>(text.size()));
      }
    }
  }
}

TEST(npy_header_bytes, a_header_too_long_for_version_1_becomes_version_2) {
  npy_header header;
  std::string descr = "[";
  for (int k = 0; k < 5000; ++k) descr += "('field" + std::to_string(k) + "', '|u1'), ";
  header.descr = descr + "]";
  header.shape = {0};
  const std::string text = npy_header_bytes(header);
  ASSERT_GT(text.size(), 65536U);
  const npy_header again = parse_npy_header(bytes_of(text), static_cast<std::int64_t>(text.size()));
  EXPECT_EQ(again.major, 2);
  EXPECT_EQ(again.itemsize, 5000);
}

TEST(npy_names, are_utf8) {
  const std::string dict =
      "{'descr': [('gr\xf6\xdf"
      "e', '<f4')], 'fortran_order': False, 'shape': (1,)}";
  npy_header header = parsed(file_with(dict, 4));
  EXPECT_EQ(npy_dtype_name(header),
            "[('gr\xc3\xb6\xc3\x9f"
            "e', '<f4')]");
  header.descr = "'<f4'";
  EXPECT_EQ(npy_dtype_name(header), "<f4");
  EXPECT_SENTENCE(file_with("{'descr': [('gr\xf6"
                            "e', '<f5')], 'fortran_order': False, 'shape': (1,)}",
                            4),
                  "'<f5'");
  EXPECT_SENTENCE(file_with("{'descr': [('gr\xf6"
                            "e', 5)], 'fortran_order': False, 'shape': (1,)}",
                            4),
                  "is 5");
  EXPECT_SENTENCE(file_with("{'descr': '\xf6', 'fortran_order': False, 'shape': (1,)}", 4), "'\\xf6'");
}

TEST(npy_magic, of_other_formats_is_known) {
  EXPECT_SENTENCE("PK\3\4 a zip file", "is no .npy file, but a zip archive, as .npz files are");
  EXPECT_SENTENCE("\x89HDF\r\n\x1a\n....", "is no .npy file, but an HDF5 file");
  EXPECT_SENTENCE(std::string("MM\0*....", 8), "a TIFF image");
  EXPECT_SENTENCE("\x1f\x8b\x08....", "compressed by gzip");
  EXPECT_SENTENCE("1.0,2.0,3.0\n4.0", "it begins with the text \"1.0,2.0,3.0\"");
  EXPECT_SENTENCE("\1\2\3\4\5\6\7", "it begins with 01 02 03 04 05 06, wanted 93");
}

}  // namespace
}  // namespace cornerturn::cli
