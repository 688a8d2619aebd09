/// Reads a small XML document into elements (XML 1.0, Namespaces in XML 1.0).
///
/// Not a general parser, and safe for that: a document type declaration is refused, so there are no entities but the
/// five predefined ones, nothing external, and nothing that grows. Only UTF-8. Depth and size are bounded.
struct XMLReader {
    /// Bytes of the longest document.
    static let longest = 64 << 20
    static let deepest = 32

    private let bytes: [UInt8]
    private var position = 0
    /// Elements that are open, outermost first, with the namespaces that each declared.
    private var open: [(element: XMLElement, tag: String, namespaces: [String: String])] = []
    private var root: XMLElement?

    /// - Throws: `XMLMalformed`.
    static func read(_ bytes: [UInt8]) throws(XMLMalformed) -> XMLElement {
        guard bytes.count <= longest else { throw XMLMalformed(line: 1, problem: "longer than \(longest) bytes") }
        var reader = XMLReader(bytes)
        return try reader.document()
    }

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    private mutating func document() throws(XMLMalformed) -> XMLElement {
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: "<") {
                try markup()
            } else {
                try characters()
            }
        }
        if let unclosed = open.last { throw malformed("<\(unclosed.tag)> is not closed") }
        guard let root else { throw malformed("no element") }
        return root
    }

    // MARK: Markup

    private mutating func markup() throws(XMLMalformed) {
        if take("<!--") {
            try skip(past: "-->", "a comment")
        } else if take("<![CDATA[") {
            try add(try text(upTo: "]]>", "a CDATA section"))
        } else if take("<?") {
            try skip(past: "?>", "a processing instruction")
        } else if take("</") {
            try endTag()
        } else if take("<!") {
            throw malformed("a document type declaration is not accepted")
        } else {
            position += 1
            try startTag()
        }
    }

    private mutating func startTag() throws(XMLMalformed) {
        let tag = try name()
        guard open.count < Self.deepest else { throw malformed("more than \(Self.deepest) elements deep") }
        guard root == nil else { throw malformed("<\(tag)> after the end of the document's element") }
        var attributes: [String: String] = [:]
        while true {
            let spaced = skipSpace()
            if take("/>") {
                try begin(tag, attributes)
                return try end(tag)
            }
            if take(">") { return try begin(tag, attributes) }
            guard spaced else { throw malformed("<\(tag)> is not a tag") }
            let attribute = try name()
            skipSpace()
            guard take("=") else { throw malformed("attribute \(attribute) has no value") }
            skipSpace()
            guard attributes.updateValue(try quoted(), forKey: attribute) == nil else {
                throw malformed("attribute \(attribute) is given twice")
            }
        }
    }

    private mutating func begin(_ tag: String, _ attributes: [String: String]) throws(XMLMalformed) {
        var namespaces = open.last?.namespaces ?? ["xml": "http://www.w3.org/XML/1998/namespace"]
        for (name, value) in attributes {
            if name == "xmlns" { namespaces[""] = value }
            if name.hasPrefix("xmlns:") { namespaces[String(name.dropFirst(6))] = value }
        }
        let (prefix, local) = Self.parts(tag)
        guard let namespace = namespaces[prefix] ?? (prefix.isEmpty ? "" : nil) else {
            throw malformed("the prefix of <\(tag)> is not declared")
        }
        let own = attributes.filter { !$0.key.contains(":") && $0.key != "xmlns" }
        open.append((XMLElement(name: .init(namespace: namespace, local: local), attributes: own), tag, namespaces))
    }

    private mutating func endTag() throws(XMLMalformed) {
        let tag = try name()
        skipSpace()
        guard take(">") else { throw malformed("</\(tag) is not closed") }
        try end(tag)
    }

    private mutating func end(_ tag: String) throws(XMLMalformed) {
        guard let (element, opened, _) = open.popLast(), opened == tag else {
            throw malformed("</\(tag)> closes nothing that is open")
        }
        if open.isEmpty {
            root = element
        } else {
            open[open.count - 1].element.children.append(element)
        }
    }

    // MARK: Text

    private mutating func characters() throws(XMLMalformed) {
        let start = position
        while position < bytes.count, bytes[position] != UInt8(ascii: "<") { position += 1 }
        try add(try resolved(bytes[start..<position]))
    }

    private mutating func add(_ text: String) throws(XMLMalformed) {
        if !open.isEmpty {
            open[open.count - 1].element.text += text
        } else if !text.utf8.allSatisfy({ $0 == 32 || $0 == 9 || $0 == 10 || $0 == 13 }) {
            throw malformed("text outside of the document's element")
        }
    }

    private mutating func quoted() throws(XMLMalformed) -> String {
        guard position < bytes.count else { throw malformed("a value is missing") }
        let quote = bytes[position]
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
            let end = bytes[(position + 1)...].firstIndex(of: quote)
        else { throw malformed("a value is not in quotes") }
        let value = bytes[(position + 1)..<end]
        guard !value.contains(UInt8(ascii: "<")) else { throw malformed("\"<\" in a value") }
        position = end + 1
        return try resolved(value)
    }

    /// Text with its references replaced (XML 1.0 section 4.1).
    private func resolved(_ raw: ArraySlice<UInt8>) throws(XMLMalformed) -> String {
        guard raw.contains(UInt8(ascii: "&")) else { return try string(raw) }
        var result = ""
        var rest = raw
        while let start = rest.firstIndex(of: UInt8(ascii: "&")) {
            result += try string(rest[..<start])
            guard let end = rest[start...].prefix(12).firstIndex(of: UInt8(ascii: ";")) else {
                throw malformed("\"&\" without \";\"")
            }
            let name = try string(rest[(start + 1)..<end])
            guard let scalar = Self.scalar(name) else { throw malformed("&\(name); is not known") }
            result.unicodeScalars.append(scalar)
            rest = rest[(end + 1)...]
        }
        return result + (try string(rest))
    }

    private static func scalar(_ name: String) -> Unicode.Scalar? {
        switch name {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default:
            guard name.hasPrefix("#") else { return nil }
            let isHex = name.hasPrefix("#x")
            let digits = name.dropFirst(isHex ? 2 : 1)
            guard digits.first != "+", digits.first != "-", let value = UInt32(digits, radix: isHex ? 16 : 10),
                value >= 32 || value == 9 || value == 10 || value == 13
            else { return nil }
            return Unicode.Scalar(value)
        }
    }

    private mutating func text(upTo end: StaticString, _ what: String) throws(XMLMalformed) -> String {
        let start = position
        try skip(past: end, what)
        return try string(bytes[start..<(position - end.utf8CodeUnitCount)])
    }

    private func string(_ raw: ArraySlice<UInt8>) throws(XMLMalformed) -> String {
        guard let text = String(validating: raw, as: UTF8.self) else { throw malformed("not UTF-8 text") }
        return text
    }

    // MARK: Pieces

    private static func parts(_ tag: String) -> (prefix: String, local: String) {
        guard let colon = tag.firstIndex(of: ":") else { return ("", tag) }
        return (String(tag[..<colon]), String(tag[tag.index(after: colon)...]))
    }

    /// A name, as far as this reader needs to tell it from what follows.
    private mutating func name() throws(XMLMalformed) -> String {
        let start = position
        while position < bytes.count, Self.isNameByte(bytes[position]) { position += 1 }
        let name = try string(bytes[start..<position])
        guard let first = name.utf8.first, !(48...57).contains(first), first != 45, first != 46, first != 58 else {
            throw malformed("a name is missing")
        }
        return name
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: ":"), 0x80...0xFF:
            true
        default: false
        }
    }

    @discardableResult
    private mutating func skipSpace() -> Bool {
        let start = position
        while position < bytes.count, [9, 10, 13, 32].contains(bytes[position]) { position += 1 }
        return position > start
    }

    /// Whether `token` comes next; it is passed then.
    private mutating func take(_ token: StaticString) -> Bool {
        guard matches(token, at: position) else { return false }
        position += token.utf8CodeUnitCount
        return true
    }

    private func matches(_ token: StaticString, at index: Int) -> Bool {
        token.withUTF8Buffer { bytes[index...].starts(with: $0) }
    }

    private mutating func skip(past end: StaticString, _ what: String) throws(XMLMalformed) {
        let first = end.utf8Start.pointee
        while let next = bytes[position...].firstIndex(of: first) {
            if matches(end, at: next) {
                position = next + end.utf8CodeUnitCount
                return
            }
            position = next + 1
        }
        throw malformed("\(what) is not closed")
    }

    private func malformed(_ problem: String) -> XMLMalformed {
        XMLMalformed(
            line: 1 + bytes.prefix(position).count { $0 == UInt8(ascii: "\n") }, problem: problem)
    }
}
