import FleetDatabase
import TransferModel

/// A value beside an SQL text, in the form that PostgreSQL reads; nil is NULL.
struct SQLParameter: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByNilLiteral {
    let text: String?

    init(_ text: String?) { self.text = text }
    init(stringLiteral text: String) { self.text = text }
    init(nilLiteral: ()) { text = nil }
    init(_ number: (some FixedWidthInteger)?) { text = number.map { "\($0)" } }
    init(_ flag: Bool) { text = flag ? "true" : "false" }
    init(_ value: JSONValue?) { text = value.map { String(decoding: JSONCoding.encode($0), as: UTF8.self) } }
    /// An interval, or seconds of any other type.
    init(seconds: Double?) { text = seconds.map { "\($0)" } }

    /// An array literal (PostgreSQL's manual, 8.15.2); nil elements are NULL.
    init(array elements: [String?]?) {
        text = elements.map { elements in
            "{"
                + elements.map { element in
                    guard let element else { return "NULL" }
                    var quoted = "\""
                    for scalar in element.unicodeScalars {
                        if scalar == "\"" || scalar == "\\" { quoted += "\\" }
                        quoted.unicodeScalars.append(scalar)
                    }
                    return quoted + "\""
                }.joined(separator: ",") + "}"
        }
    }

    init(array numbers: [Int64]) { self.init(array: numbers.map { "\($0)" }) }
    init(array values: [JSONValue?]) { self.init(array: values.map { $0.flatMap { SQLParameter($0).text } }) }
}

/// What a statement returned.
struct Rows: RandomAccessCollection, Sendable {
    private var columns: [String: Int] = [:]
    private var cells: [[String?]] = []

    init() {}

    init(_ result: OpaquePointer) {
        let width = PQnfields(result)
        for column in 0..<width {
            if let name = PQfname(result, column) { columns[String(cString: name)] = Int(column) }
        }
        cells = (0..<PQntuples(result)).map { row in
            (0..<width).map { column in
                guard PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) else {
                    return nil
                }
                let bytes = UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, row, column)))
                return String(decoding: bytes, as: UTF8.self)
            }
        }
    }

    var startIndex: Int { 0 }
    var endIndex: Int { cells.count }
    subscript(index: Int) -> Row { Row(columns: columns, cells: cells[index]) }
}

/// One row. A value is nil if it is NULL, if it has another type, or if there is no such column.
struct Row: Sendable {
    fileprivate let columns: [String: Int]
    fileprivate let cells: [String?]

    func text(_ column: String) -> String? { columns[column].flatMap { cells[$0] } }
    func integer(_ column: String) -> Int64? { text(column).flatMap { Int64($0) } }
    func flag(_ column: String) -> Bool? { text(column).map { $0 == "t" || $0 == "true" } }

    /// A column of type json or jsonb; also null if it is more than JSONCoding reads.
    func json(_ column: String) -> JSONValue {
        text(column).flatMap { try? JSONCoding.decode(JSONValue.self, from: Array($0.utf8), lenient: true) } ?? .null
    }
}
