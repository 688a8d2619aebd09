import CYAML

/// One value of a YAML document, with the line on which it begins.
package struct YAMLNode {
    package enum Content {
        case scalar(String, isPlain: Bool)
        case sequence([YAMLNode])
        case mapping([Member])
    }

    package struct Member {
        package var key: YAMLNode
        package var value: YAMLNode
    }

    package var line: Int
    package var content: Content

    package var text: String? {
        if case .scalar(let text, _) = content { text } else { nil }
    }
}

/// Why a text is not one YAML document.
package struct YAMLError: Error {
    package var message: String
    package var line: Int?
}

/// Reads one YAML document with libyaml. libyaml's parser produces events, from which this type builds mappings and
/// sequences.
package struct YAMLDocument {
    /// The deepest nesting that is read. Settings have three levels.
    static let deepest = 64

    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let text: UnsafeBufferPointer<UInt8>
    private var anchors: [String: YAMLNode] = [:]

    /// - Returns: nil if the text has no document.
    package static func parse(_ text: String) throws(YAMLError) -> YAMLNode? {
        let bytes = Array(text.utf8)
        // libyaml refuses a null pointer.
        guard !bytes.isEmpty else { return nil }
        // The parser stores its own address, so it must not move.
        let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        defer { parser.deallocate() }
        guard yaml_parser_initialize(parser) == 1 else { throw YAMLError(message: "there is not enough memory") }
        defer { yaml_parser_delete(parser) }
        return try bytes.withUnsafeBufferPointer { text throws(YAMLError) in
            yaml_parser_set_input_string(parser, text.baseAddress, text.count)
            var document = YAMLDocument(parser: parser, text: text)
            return try document.root()
        }
    }

    private init(parser: UnsafeMutablePointer<yaml_parser_t>, text: UnsafeBufferPointer<UInt8>) {
        self.parser = parser
        self.text = text
    }

    private mutating func root() throws(YAMLError) -> YAMLNode? {
        var root: YAMLNode?
        while true {
            let event = try next()
            switch event.kind {
            case .streamEnd: return root
            case .documentStart:
                guard root == nil else {
                    throw YAMLError(message: "a second document begins; a file holds one", line: event.line)
                }
                root = try node(next(), depth: 0)
            case .scalar, .alias, .sequenceStart, .mappingStart, .end, .other: continue
            }
        }
    }

    private mutating func node(_ event: Event, depth: Int) throws(YAMLError) -> YAMLNode {
        guard depth < Self.deepest else {
            throw YAMLError(message: "it is nested more than \(Self.deepest) levels deep", line: event.line)
        }
        let content: YAMLNode.Content
        switch event.kind {
        case .scalar(let text, let isPlain): content = .scalar(text, isPlain: isPlain)
        case .sequenceStart:
            var items: [YAMLNode] = []
            while let item = try child(depth: depth + 1) { items.append(item) }
            content = .sequence(items)
        case .mappingStart:
            var members: [YAMLNode.Member] = []
            while let key = try child(depth: depth + 1), let value = try child(depth: depth + 1) {
                members.append(YAMLNode.Member(key: key, value: value))
            }
            content = .mapping(members)
        case .alias:
            guard let name = event.anchor, let node = anchors[name] else {
                throw YAMLError(message: "*\(event.anchor ?? "") names no anchor above", line: event.line)
            }
            return node
        case .end, .documentStart, .streamEnd, .other:
            throw YAMLError(message: "a value is expected here", line: event.line)
        }
        let node = YAMLNode(line: event.line, content: content)
        if let anchor = event.anchor { anchors[anchor] = node }
        return node
    }

    /// - Returns: nil at the end of the sequence or mapping.
    private mutating func child(depth: Int) throws(YAMLError) -> YAMLNode? {
        let event = try next()
        if case .end = event.kind { return nil }
        return try node(event, depth: depth)
    }
}

// MARK: - Events

extension YAMLDocument {
    private struct Event {
        enum Kind {
            case scalar(String, isPlain: Bool)
            case alias, sequenceStart, mappingStart
            /// The end of a sequence or a mapping.
            case end
            case documentStart, streamEnd, other
        }

        package var kind: Kind
        var anchor: String?
        var line: Int
    }

    private func next() throws(YAMLError) -> Event {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw failure }
        defer { yaml_event_delete(&event) }
        let line = Int(event.start_mark.line) + 1
        switch event.type {
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
            let isPlain = scalar.style == YAML_PLAIN_SCALAR_STYLE
            return Event(kind: .scalar(text, isPlain: isPlain), anchor: Self.name(scalar.anchor), line: line)
        case YAML_ALIAS_EVENT: return Event(kind: .alias, anchor: Self.name(event.data.alias.anchor), line: line)
        case YAML_SEQUENCE_START_EVENT:
            return Event(kind: .sequenceStart, anchor: Self.name(event.data.sequence_start.anchor), line: line)
        case YAML_MAPPING_START_EVENT:
            return Event(kind: .mappingStart, anchor: Self.name(event.data.mapping_start.anchor), line: line)
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: return Event(kind: .end, line: line)
        case YAML_DOCUMENT_START_EVENT: return Event(kind: .documentStart, line: line)
        case YAML_STREAM_END_EVENT: return Event(kind: .streamEnd, line: line)
        default: return Event(kind: .other, line: line)
        }
    }

    private static func name(_ anchor: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        anchor.map { String(cString: $0) }
    }

    private var failure: YAMLError {
        let problem = parser.pointee.problem.map { String(cString: $0) } ?? "there is not enough memory"
        guard parser.pointee.error == YAML_READER_ERROR else {
            return YAMLError(message: problem, line: Int(parser.pointee.problem_mark.line) + 1)
        }
        // A problem of libyaml's reader has an offset instead of a line.
        let before = text.prefix(parser.pointee.problem_offset)
        return YAMLError(message: problem, line: before.count { $0 == UInt8(ascii: "\n") } + 1)
    }
}
