import TransferModel

/// Writes Markdown blocks with one blank line between them.
struct MarkdownPage {
    private var blocks: [String] = []

    var text: String { blocks.joined(separator: "\n\n") + "\n" }

    mutating func add(_ block: String) { blocks.append(block) }

    mutating func table(_ head: [String], _ rows: [[String]]) {
        func line(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }
        let rule = "|" + head.map { _ in "---|" }.joined()
        blocks.append(([line(head), rule] + rows.map(line)).joined(separator: "\n"))
    }

    mutating func fields(_ title: String, _ fields: [(name: String, field: Field)]) {
        table(
            [title, "Type", "Means"],
            fields.map { name, field in
                ["`\(name)`\(field.isRequired ? "" : "?")", Self.name(of: field.type), field.text]
            })
    }

    /// The anchor that GitHub makes from a heading.
    static func anchor(_ heading: String) -> String {
        heading.lowercased().filter { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
    }

    static func link(_ object: any WireObject.Type) -> String {
        object.fields.isEmpty ? "an empty object" : "[\(object.wireName)](#\(anchor(object.wireName)))"
    }

    static func name(of type: WireType) -> String {
        switch type {
        case .string: "string"
        case .integer: "integer"
        case .number: "number"
        case .boolean: "boolean"
        case .null: "null"
        case .any: "any"
        case .time: "time"
        case .seconds: "seconds"
        case .byteCount: "bytes"
        case .byteRate: "bytes per second"
        case .taskID: "task id"
        case .sequence: "sequence number"
        case .userID: "user id"
        case .choice(let names, _): names.map { "`\($0)`" }.joined(separator: ", ")
        case .list(let element): "list of \(name(of: element))"
        case .map(let element): "object of \(name(of: element))"
        case .object(let object): link(object)
        case .either(let types): types.map { name(of: $0) }.joined(separator: " or ")
        }
    }
}
