import Testing
import TransferModel

@testable import TransferCore

struct LinkFieldsTests {
    private func duplicates(_ values: String..., base: String = "https://a.example/dir/f.iso") -> [String] {
        LinkFields.duplicates(values.map { HeaderField("Link", $0) }, base: base).map(\.url)
    }

    @Test func copiesByPriorityThenOrder() {
        #expect(
            duplicates(
                "<http://c/f>; rel=duplicate, <http://b/f>; rel=\"duplicate\"; pri=2; geo=de",
                "<http://d/f>;pri=1;rel=duplicate , <http://e/f>; rel=duplicate")
                == ["http://d/f", "http://b/f", "http://c/f", "http://e/f"])
    }

    @Test(arguments: [
        "<http://b/f>; rel=describedby; type=\"application/metalink4+xml\"", "<http://b/f>",
        "<http://b/f>; rel=duplicate; anchor=\"#x\"", "<ftp://b/f>; rel=duplicate", "<mailto:x>; rel=duplicate",
        "http://b/f; rel=duplicate", "<http://b/f; rel=duplicate", "<>; rel", "", ",,", "<http://b/f>; rel=\"dupli",
    ])
    func whatIsNoCopyIsLeftOut(_ value: String) {
        #expect(duplicates(value).isEmpty)
    }

    @Test func relationsAreAListWithoutCase() {
        #expect(duplicates("<http://b/f>; REL=\"next Duplicate\"") == ["http://b/f"])
        #expect(duplicates("<http://b/f>; rel=next; rel=duplicate").isEmpty)
    }

    @Test func referencesAreResolved() {
        #expect(
            duplicates("<../f>; rel=duplicate, <//b/f>; rel=duplicate") == ["https://a.example/f", "https://b/f"])
    }

    @Test func quotedTextMayHoldSeparators() {
        #expect(
            duplicates("<http://b/f?x=1,2;3>; title=\"a, <b>; \\\"c\\\"\"; rel=duplicate, <http://c/f>; rel=duplicate")
                == ["http://b/f?x=1,2;3", "http://c/f"])
    }

    @Test func oneCopyCountsOnce() {
        #expect(duplicates("<http://b/f>; rel=duplicate; pri=5, <http://b/f>; rel=duplicate; pri=1") == ["http://b/f"])
    }

    @Test(arguments: [("0", 1), ("-4", 1), ("1000000000", 999_999), ("x", 999_999), ("7", 7)])
    func prioritiesAreBounded(_ text: String, _ priority: Int) {
        let links = LinkFields.duplicates(
            [HeaderField("link", "<http://b/f>; rel=duplicate; pri=\(text)")], base: "http://a/")
        #expect(links.first?.priority == priority)
    }
}
