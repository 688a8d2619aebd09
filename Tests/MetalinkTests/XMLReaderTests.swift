import Testing

@testable import Metalink

struct XMLReaderTests {
    private func read(_ text: String) throws(XMLMalformed) -> XMLElement { try XMLReader.read(Array(text.utf8)) }

    private func problem(_ text: String) -> String? {
        do {
            _ = try read(text)
            return nil
        } catch {
            return error.description
        }
    }

    @Test func elementsNestAndKeepTheirText() throws {
        let root = try read(
            "\u{FEFF}<?xml version='1.0' encoding=\"UTF-8\"?>\n<!-- c --><a x = '1' y=\"2\"><b> t&amp;<![CDATA[<&]]> </b><b/></a>\n"
        )
        #expect(root.name == .init(namespace: "", local: "a"))
        #expect(root.attributes == ["x": "1", "y": "2"])
        #expect(root.children.map(\.trimmedText) == ["t&<&", ""])
        #expect(root.first("b")?.text == " t&<& ")
    }

    @Test func prefixesAreResolvedAndForeignNamesKeptApart() throws {
        let root = try read(
            "<m:a xmlns:m='urn:m' xmlns:o='urn:o'><m:b/><o:b/><b xmlns='urn:m' o:k='1' k='2'/></m:a>")
        #expect(root.name.namespace == "urn:m")
        #expect(root.all("b").count == 2)
        #expect(root.all("b")[1].attributes == ["k": "2"])
    }

    @Test func aDefaultNamespaceEndsWithItsElement() throws {
        let root = try read("<a><b xmlns='urn:b'><c/></b><c/></a>")
        #expect(root.children[0].children[0].name.namespace == "urn:b")
        #expect(root.children[1].name.namespace == "")
    }

    @Test(arguments: [
        ("&lt;&gt;&quot;&apos;", "<>\"'"), ("&#65;&#x42;&#x1F600;", "AB😀"), ("a&#10;b", "a\nb"),
    ])
    func predefinedAndNumericReferences(_ raw: String, _ text: String) throws {
        #expect(try read("<a>\(raw)</a>").text == text)
        #expect(try read("<a k=\"\(raw)\"/>").attributes["k"] == text)
    }

    @Test(arguments: [
        ("<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "document type"),
        ("<!DOCTYPE a SYSTEM 'a.dtd'><a/>", "document type"),
        ("<a>&x;</a>", "undefined entity"), ("<a>&#0;</a>", "invalid character number"),
        ("<a>& b</a>", "not well-formed"), ("<a k='x\u{1}y'/>", "not well-formed"),
        ("<a>", "no element"), ("</a>", "not well-formed"), ("<a></b>", "mismatched tag"),
        ("<a><b></a></b>", "mismatched"),
        ("", "no element"), ("text", "syntax error"), ("<a/>text", "junk"), ("<a/><b/>", "junk"),
        ("<a k/>", "not well-formed"), ("<a k='1/>", "unclosed token"), ("<a k='<'/>", "not well-formed"),
        ("<a k='1' k='2'/>", "duplicate attribute"), ("<p:a/>", "unbound prefix"), ("<a", "unclosed token"),
        ("<a><![CDATA[x</a>", "unclosed CDATA"),
    ])
    func whatIsMalformedIsRefused(_ text: String, _ part: String) {
        #expect(problem(text)?.contains(part) == true, "\(problem(text) ?? "accepted")")
    }

    @Test func theLineIsNamed() {
        #expect(problem("<a>\n\n<b></c></a>") == "line 3: mismatched tag")
    }

    @Test func textMustBeUTF8() {
        #expect(throws: XMLMalformed.self) { try XMLReader.read(Array("<a>".utf8) + [0xFF] + Array("</a>".utf8)) }
    }

    @Test func depthIsBounded() throws {
        let deepest = XMLReader.deepest
        _ = try read(String(repeating: "<a>", count: deepest) + String(repeating: "</a>", count: deepest))
        #expect(problem(String(repeating: "<a>", count: deepest + 1))?.contains("deep") == true)
    }

    /// Every text that is cut off or changed gives a refusal or a document, never a trap.
    @Test func anyDamageIsBorne() {
        let whole = Array("<m xmlns='urn:m'><f n=\"a&amp;b\"><!-- c --><u p='1'>x</u><![CDATA[d]]></f></m>".utf8)
        for length in 0..<whole.count { _ = try? XMLReader.read(Array(whole.prefix(length))) }
        for index in whole.indices {
            for byte in [UInt8(0), 0x22, 0x26, 0x27, 0x2F, 0x3A, 0x3C, 0x3E, 0x80, 0xFF] {
                var damaged = whole
                damaged[index] = byte
                _ = try? XMLReader.read(damaged)
            }
        }
        #expect((try? XMLReader.read(whole)) != nil)
    }
}
