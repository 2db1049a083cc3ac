// JSON objects under the sanitizers: good ones, bad ones, and every beginning of each.
#include "reader/json.h"

#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace
{

int failures = 0;

// In memory of its very size, so that the address sanitizer sees a read past the end.
bool is_good(const std::string& text)
{
	std::unique_ptr<uint8_t[]> own(new uint8_t[text.size()]);
	for (size_t i = 0; i < text.size(); ++i)
		own[i] = uint8_t(text[i]);
	return mocpack::read_json_object(own.get(), text.size()).good;
}

void expect(const std::string& text, bool good)
{
	if (is_good(text) == good)
		return;
	printf("%s is %s\n", text.substr(0, 80).c_str(), good ? "refused" : "accepted");
	++failures;
}

std::string nested(int levels)
{
	return "{\"a\":" + std::string(size_t(levels - 1), '[') + std::string(size_t(levels - 1), ']') + "}";
}

std::string nested_objects(int levels)
{
	std::string text = "{}";
	for (int i = 1; i < levels; ++i)
		text = "{\"a\":" + text + "}";
	return text;
}

const std::vector<std::string> GOOD = {
	"{}",
	" {\"a\" : [1, -2.5e3, true, false, null, \"\\u00e9\\n\"] , \"a\":{}} ",
	"{\"a\":\"\\ud83d\\ude00\"}",
	"{\"a\":\"\\ud7ff\\ue000\"}",
	"{\"a\":9.9999999999999999e307}",
	"{\"a\":0.00099999999999999999e311,\"b\":9999999999999999.9e292}",
	"{\"a\":0e999,\"b\":0.000e5000,\"c\":1e-99999999999999999999}",
	"{\"a\":" + std::string(308, '9') + "}",
	nested(100),
	nested_objects(100),
};
const std::vector<std::string> BAD = {
	"",
	"[]",
	"{}{}",
	"{\"a\":NaN}",
	"{\"a\":Infinity}",
	"{\"a\":-Infinity}",
	"{\"a\":1e999}",
	"{\"a\":1e99999999999999999999}",
	"{\"a\":1e308}",
	"{\"a\":0.001e311}",
	"{\"a\":1" + std::string(308, '0') + "}",
	"{\"a\":" + std::string(5000, '7') + "}",
	"{\"a\":\"\\ud83d\"}",
	"{\"a\":\"\\ude00\"}",
	"{\"a\":\"\\ud800\"}",
	"{\"a\":\"\\udfff\"}",
	"{\"a\":\"\\ud83dx\"}",
	"{\"a\":\"\\ud83d\\n\"}",
	"{\"a\":\"\\ud83d\\u0041\"}",
	"{\"a\":\"\\q0041\"}",
	"{\"a\":01}",
	"{\"a\":-}",
	"{\"a\":1.}",
	"{\"a\":1e}",
	nested(101),
	nested_objects(101),
	nested(200000),
};

void test_objects_are_told_from_what_is_none()
{
	for (const std::string& text : GOOD)
		expect(text, true);
	for (const std::string& text : BAD)
		expect(text, false);
}

// The first and the last text of each length, those next to surrogates, and what lies just beyond.
void test_utf8_is_told_from_what_is_none()
{
	const std::vector<std::string> good = {"\x7f",		   "\xc2\x80",		   "\xdf\xbf",
										   "\xe0\xa0\x80", "\xed\x9f\xbf",	   "\xee\x80\x80",
										   "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
	const std::vector<std::string> bad = {"\x80",
										  "\xc1\xbf",
										  "\xe0\x9f\xbf",
										  "\xed\xa0\x80",
										  "\xed\xbf\xbf",
										  "\xf0\x8f\xbf\xbf",
										  "\xf4\x90\x80\x80",
										  "\xf5\x80\x80\x80",
										  "\xc2",
										  "\xe1\x80",
										  "\xe1\x80"
										  "A",
										  "\xc2\xc2"};
	for (const auto* texts : {&good, &bad})
		for (const std::string& text : *texts)
			if (mocpack::is_utf8(reinterpret_cast<const uint8_t*>(text.data()), text.size()) !=
				(texts == &good))
				printf("UTF-8 of %zu bytes is classified wrongly\n", text.size()), ++failures;
}

void test_any_bytes_do_no_harm()
{
	std::mt19937 random(3);
	for (const auto* texts : {&GOOD, &BAD})
		for (const std::string& text : *texts)
			for (size_t size = 0; size < text.size() && size < 400; ++size)
			{
				is_good(text.substr(0, size));
				std::string changed = text.substr(0, 400);
				changed[random() % changed.size()] = char(random());
				is_good(changed);
			}
}

} // namespace

int main()
{
	test_objects_are_told_from_what_is_none();
	test_utf8_is_told_from_what_is_none();
	test_any_bytes_do_no_harm();
	if (failures)
		printf("%d checks failed\n", failures);
	return failures ? 1 : 0;
}
