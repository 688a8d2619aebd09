import Testing

@testable import DaemonSetup

@Suite struct YAMLDocumentTests {
    /// Returns a node as text, with the line of each value.
    private static func outline(_ node: YAMLNode) -> String {
        switch node.content {
        case .scalar(let text, let isPlain): "\(node.line):" + (isPlain ? text : "'\(text)'")
        case .sequence(let items): "\(node.line):[\(items.map(outline).joined(separator: ", "))]"
        case .mapping(let members):
            "\(node.line):{\(members.map { "\(outline($0.key)) = \(outline($0.value))" }.joined(separator: ", "))}"
        }
    }

    @Test(
        arguments: [
            ("", nil), ("# nothing\n", nil), ("---\n", "2:"), ("\u{FEFF}a", "1:a"),
            ("a: 1\nb:\n  - x\n  - 'y'\n", "1:{1:a = 1:1, 2:b = 3:[3:x, 4:'y']}"),
            ("a: {b: c, d: []}", "1:{1:a = 1:{1:b = 1:c, 1:d = 1:[]}}"),
            ("a: |\n  one\n  two\n", "1:{1:a = 1:'one\ntwo\n'}"), ("a: \"\\x41\\u00e4\"", "1:{1:a = 1:'Aä'}"),
            ("a: &x [1]\nb: *x\n", "1:{1:a = 1:[1:1], 2:b = 1:[1:1]}"), ("a: 1\na: 2\n", "1:{1:a = 1:1, 2:a = 2:2}"),
            ("a: !!float 3", "1:{1:a = 1:3}"), ("a:\r\n  b\r\n", "1:{1:a = 2:b}"),
        ] as [(String, String?)])
    func valuesAreReadWithTheirLines(text: String, outline: String?) throws {
        #expect(try YAMLDocument.parse(text).map(Self.outline) == outline)
    }

    @Test(arguments: [
        ("a: *b", "*b names no anchor above", 1), ("a: &x [*x]", "*x names no anchor above", 1),
        ("a: [\n", "did not find expected node content", 2),
        ("a:\n\tb: c", "found character that cannot start any token", 2),
        ("a\n---\nb", "a second document begins; a file holds one", 2),
        ("\n\n\u{1}", "control characters are not allowed", 3),
        ("a: \"b", "found unexpected end of stream", 1),
    ])
    func mistakesHaveTheirLine(text: String, message: String, line: Int) {
        let error = #expect(throws: YAMLError.self) { try YAMLDocument.parse(text) }
        #expect(error?.message == message)
        #expect(error?.line == line)
    }

    @Test func depthIsBounded() throws {
        let nested = { (count: Int) in String(repeating: "[", count: count) + String(repeating: "]", count: count) }
        #expect(try YAMLDocument.parse(nested(YAMLDocument.deepest)) != nil)
        for count in [YAMLDocument.deepest + 1, 500_000] {
            let error = #expect(throws: YAMLError.self) { try YAMLDocument.parse(nested(count)) }
            #expect(error?.message.contains("64 levels") == true)
        }
    }

    /// An alias is a reference. A document that expands to a thousand million values takes no memory.
    @Test func aliasesDoNotMultiplyMemory() throws {
        let levels = (1...9).map { level in
            let items = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
            return "a\(level): &a\(level) [\(items)]"
        }
        #expect(try YAMLDocument.parse("a0: &a0 x\n" + levels.joined(separator: "\n")) != nil)
    }
}
