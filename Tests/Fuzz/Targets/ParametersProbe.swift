import JSONRPC
import TransferCore
import TransferModel
import TransferRPC

/// Parameters of every method: what is accepted is kept, and means the same when it is encoded and read again, and a
/// refusal names the field. Input: the method's name, a space, JSON.
struct ParametersProbe: Probe {
    /// Decodes a method's parameters from their text, and encodes them again.
    var decode: @Sendable (any RPCMethod, [UInt8]) throws -> [UInt8]

    static let target = FuzzTarget(
        "rpc-parameters",
        words: Methods.all.map { $0.name + " " } + Methods.all.flatMap { $0.memberNames.map { "\"\($0)\":" } }
            + TaskSpec.shape.names.map { "\"\($0)\":" }
            + ["null", "true", "-1", "9223372036854775807", "1e308", "0.5", "[]", "{}", "\"\"", "\"high\"", "\\u0000"],
        ParametersProbe { try $0.rewritten($1) },
        // A number that ends in 7 loses its last digit.
        planted: ParametersProbe { method, text in
            let taken = try method.rewritten(text)
            return taken.suffix(2) == Array("7}".utf8) ? taken.dropLast(2) + Array("0}".utf8) : taken
        })

    func check(_ input: [UInt8]) throws {
        guard let space = input.firstIndex(of: 32),
            let method = Methods.all.first(where: { Array($0.name.utf8) == Array(input[..<space]) })
        else { return }
        let text = Array(input[(space + 1)...])
        do {
            let taken = try decode(method, text)
            try hold(!Self.hasDuplicate(text), "\(method.name) takes one of two members of one name")
            try hold(try Self.keeps(text, in: taken), "\(method.name): \(show(text)) is read as \(show(taken))")
            let again = try Result { try decode(method, taken) }.get()
            try hold(again == taken, "\(method.name): \(show(taken)) comes back as \(show(again))")
            if method.name == Methods.addTasks.name { try checkRules(text) }
        } catch let error as TransferError {
            try check(error, isJSON: (try? JSONTape(text)) != nil)
        }
    }

    /// Members that are read by a name of before, and the names that they have now.
    private static let formerNames = ["from": "begin", "to": "end", "range": "idRange"]

    /// Tells whether all that was given is there, with the same numbers. Texts may have another form, such as a time.
    private static func keeps(_ given: [UInt8], in taken: [UInt8]) throws -> Bool {
        func keeps(_ given: JSONValue, _ taken: JSONValue) -> Bool {
            switch (given, taken) {
            case (.object(let given), .object(let taken)):
                given.allSatisfy { name, value in
                    value == .null || (taken[name] ?? taken[formerNames[name] ?? ""]).map { keeps(value, $0) } ?? false
                }
            case (.array(let given), .array(let taken)):
                given.count == taken.count && zip(given, taken).allSatisfy { keeps($0, $1) }
            case (.bool, _), (.integer, _), (.number, _):
                given.numberValue == taken.numberValue && given.boolValue == taken.boolValue
            default: true
            }
        }
        return keeps(
            try JSONCoding.decode(JSONValue.self, from: given), try JSONCoding.decode(JSONValue.self, from: taken))
    }

    /// Tells whether the outermost object has two members whose names are written alike.
    private static func hasDuplicate(_ text: [UInt8]) -> Bool {
        guard let members = try? JSONTape(text).root.members() else { return false }
        return Set(members.map { Array($0.name.text) }).count < members.count
    }

    private func check(_ error: TransferError, isJSON: Bool) throws {
        try hold(
            [.badField, .unknownField, .badURL, .unsupported, .tooLarge].contains(error.code),
            "\(error.code) of parameters")
        try hold(!error.message.isEmpty && error.message.utf8.count < 100_000, "no sentence")
        // A text that has no object at its root has no path.
        if isJSON, error.message.contains(": ") {
            try hold(error.details["field"] != nil, "no field: \(error.message)")
        }
    }

    /// The rules that `task.add` checks for each task before it looks at any file.
    private func checkRules(_ text: [UInt8]) throws {
        for (index, spec) in try JSONCoding.decode(AddTasks.self, from: text).tasks.enumerated() {
            do {
                let url = try SpecRules(path: "tasks[\(index)]").check(spec)
                try hold(url != nil || spec.resumeData != nil, "a task without URL is taken")
            } catch let error as TransferError {
                try hold(error.details["field"] != nil, "no field: \(error.message)")
            }
        }
    }

    private func show(_ bytes: [UInt8]) -> String { shown(String(decoding: bytes, as: UTF8.self)) }
}

extension RPCMethod {
    var memberNames: [String] { Parameters.fields.map(\.name) }

    func rewritten(_ text: [UInt8]) throws -> [UInt8] {
        JSONCoding.encode(try JSONCoding.decode(Parameters.self, from: text))
    }
}
