import CExpat

/// Reads a small XML document into elements with expat (XML 1.0, Namespaces in XML 1.0).
///
/// Document type declarations are refused, so there are only the five predefined entities, nothing external, and
/// nothing that expands. Only UTF-8 is accepted. Depth and size are limited.
enum XMLReader {
    /// The length of the longest document in bytes.
    static let longest = 64 << 20
    static let deepest = 32

    /// Separates namespace and local name in expat's output. No URI contains it.
    private static let separator = UInt8(ascii: "\n")

    /// - Throws: `XMLMalformed`.
    static func read(_ bytes: [UInt8]) throws(XMLMalformed) -> XMLElement {
        guard bytes.count <= longest else { throw XMLMalformed(line: 1, problem: "longer than \(longest) bytes") }
        guard let parser = XML_ParserCreateNS("UTF-8", XML_Char(separator)) else {
            throw XMLMalformed(line: 1, problem: "out of memory")
        }
        defer { XML_ParserFree(parser) }
        let document = Document(parser)
        XML_SetUserData(parser, Unmanaged.passUnretained(document).toOpaque())
        XML_SetElementHandler(
            parser, { Document.of($0)?.begin($1, $2) }, { context, _ in Document.of(context)?.end() })
        XML_SetCharacterDataHandler(parser) { Document.of($0)?.add($1, Int($2)) }
        XML_SetStartDoctypeDeclHandler(parser) { context, _, _, _, _ in
            Document.of(context)?.refuse("a document type declaration is not accepted")
        }
        let status = bytes.withUnsafeBytes { raw in
            XML_Parse(parser, raw.bindMemory(to: CChar.self).baseAddress, Int32(raw.count), 1)
        }
        guard status == XML_STATUS_OK, let root = document.root else {
            let problem = document.refusal ?? String(cString: XML_ErrorString(XML_GetErrorCode(parser)))
            throw XMLMalformed(line: Int(XML_GetCurrentLineNumber(parser)), problem: problem)
        }
        return root
    }

    /// What has been read. Expat's callbacks fill it.
    private final class Document {
        private(set) var root: XMLElement?
        private(set) var refusal: String?
        private let parser: XML_Parser
        /// The open elements, outermost first.
        private var open: [XMLElement] = []

        init(_ parser: XML_Parser) { self.parser = parser }

        static func of(_ context: UnsafeMutableRawPointer?) -> Document? {
            context.map { Unmanaged<Document>.fromOpaque($0).takeUnretainedValue() }
        }

        /// - Parameter attributes: alternating names and values, ended by nil.
        func begin(_ name: UnsafePointer<XML_Char>?, _ attributes: UnsafeMutablePointer<UnsafePointer<XML_Char>?>?) {
            guard refusal == nil, let name = name.map({ Self.name($0) }) else { return }
            guard open.count < deepest else { return refuse("more than \(deepest) elements deep") }
            var element = XMLElement(name: name)
            var next = attributes
            while let pair = next, let key = pair[0], let value = pair[1] {
                let key = Self.name(key)
                if key.namespace.isEmpty { element.attributes[key.local] = String(cString: value) }
                next = pair + 2
            }
            open.append(element)
        }

        func add(_ text: UnsafePointer<XML_Char>?, _ length: Int) {
            guard refusal == nil, !open.isEmpty, let text else { return }
            let bytes = UnsafeRawBufferPointer(start: text, count: length)
            open[open.count - 1].text += String(decoding: bytes, as: UTF8.self)
        }

        func end() {
            guard refusal == nil, let element = open.popLast() else { return }
            if open.isEmpty { root = element } else { open[open.count - 1].children.append(element) }
        }

        func refuse(_ problem: String) {
            refusal = problem
            XML_StopParser(parser, XML_Bool(XML_FALSE))
        }

        private static func name(_ text: UnsafePointer<XML_Char>) -> XMLElement.Name {
            let name = String(cString: text)
            guard let end = name.utf8.firstIndex(of: separator) else { return .init(namespace: "", local: name) }
            return .init(namespace: String(name[..<end]), local: String(name[name.utf8.index(after: end)...]))
        }
    }
}
