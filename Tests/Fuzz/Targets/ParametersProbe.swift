import FoundationEssentials
import JSONRPC
import TransferCore
import TransferModel
import TransferRPC

/// Parameters of every method: the fast decoder and Foundation's give the same values, accepted parameters are encoded
/// so that they are accepted again, and a refusal names the field. Input: the method's name, a space, JSON.
struct ParametersProbe: Probe {
    /// Decodes a method's parameters from their text, and encodes them again.
    var decode: @Sendable (any RPCMethod.Type, [UInt8]) throws -> [UInt8]

    static let target = FuzzTarget(
        "rpc-parameters",
        words: allMethods.map { $0.name + " " } + allMethods.flatMap { $0.memberNames.map { "\"\($0)\":" } }
            + TaskSpec.CodingKeys.allCases.map { "\"\($0.stringValue)\":" }
            + ["null", "true", "-1", "9223372036854775807", "1e308", "0.5", "[]", "{}", "\"\"", "\"high\"", "\\u0000"],
        ParametersProbe { try $0.rewritten($1) },
        // A number that ends in 7 loses its last digit.
        planted: ParametersProbe { method, text in
            let taken = try method.rewritten(text)
            return taken.suffix(2) == Array("7}".utf8) ? taken.dropLast(2) + Array("0}".utf8) : taken
        })

    func check(_ input: [UInt8]) throws {
        guard let space = input.firstIndex(of: 32),
            let method = allMethods.first(where: { Array($0.name.utf8) == Array(input[..<space]) })
        else { return }
        let text = Array(input[(space + 1)...])
        let quick = Result { try decode(method, text) }
        if case .failure(let error as TransferError) = quick, error.message.hasSuffix("is given twice; give it once.") {
            return try checkDuplicate(error, text)
        }
        let slow = Result { try method.rewrittenByFoundation(text) }
        switch (quick, slow) {
        case (.success(let taken), .success(let other)):
            try hold(!Self.hasDuplicate(text), "\(method.name) takes one of two members of one name")
            try hold(taken == other, "\(method.name): \(show(taken)), but Foundation reads \(show(other))")
            let again = try Result { try decode(method, taken) }.get()
            try hold(again == taken, "\(method.name): \(show(taken)) comes back as \(show(again))")
            if method is AddTasks.Type { try checkRules(text) }
        case (.failure(let error as TransferError), .failure(let other)):
            try check(error)
            try hold(TransferError(decoding: other).code == error.code, "\(method.name): \(error.code), and \(other)")
        case (.failure(let error), .failure):
            throw Violation(description: "\(method.name): the refusal is a \(type(of: error))")
        case (.success(let taken), .failure(let other)):
            throw Violation(description: "\(method.name) takes \(show(taken)), Foundation not: \(other)")
        case (.failure(let error), .success(let other)):
            throw Violation(description: "\(method.name) refuses \(show(other)): \(error)")
        }
    }

    /// Foundation accepts one of two members with the same name. The name in the error occurs twice in the text, unless
    /// it is written with escapes.
    private func checkDuplicate(_ error: TransferError, _ text: [UInt8]) throws {
        try check(error)
        let name =
            error.details["field"]?.stringValue?.split(separator: ".", omittingEmptySubsequences: false).last ?? ""
        let count = String(decoding: text, as: UTF8.self).ranges(of: "\"\(name)\"").count
        try hold(count > 1 || text.contains(UInt8(ascii: "\\")) || name.isEmpty, "\(name) is there \(count) times")
    }

    /// Tells whether the outermost object has two members whose names are written alike.
    private static func hasDuplicate(_ text: [UInt8]) -> Bool {
        guard case .object(let members)? = try? JSONStructure(text).root else { return false }
        return Set(members.map { Array(text[$0.name]) }).count < members.count
    }

    private func check(_ error: TransferError) throws {
        try hold(
            [.badField, .unknownField, .badURL, .unsupported].contains(error.code), "\(error.code) of parameters")
        try hold(!error.message.isEmpty && error.message.utf8.count < 100_000, "no sentence")
        if error.code == .unknownField { try hold(error.details["field"] != nil, "no field: \(error.message)") }
    }

    /// The rules that `task.add` checks for each task before it looks at any file.
    private func checkRules(_ text: [UInt8]) throws {
        for (index, spec) in try WireCoding.parameters(of: AddTasks.self, from: text).tasks.enumerated() {
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
    static var memberNames: [String] { Parameters.fields.map(\.name) }

    static func rewritten(_ text: [UInt8]) throws -> [UInt8] {
        try sorted(WireCoding.encode(WireCoding.parameters(of: Self.self, from: text)))
    }

    static func rewrittenByFoundation(_ text: [UInt8]) throws -> [UInt8] {
        let value = try JSONDecoder().decode(StrictParameters<Parameters>.self, from: Data(JSONNumbers.plain(text)))
            .value
        return try sorted(Array(JSONEncoder().encode(value)))
    }

    /// Sorts the members, because dictionaries have no order.
    private static func sorted(_ text: [UInt8]) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(JSONDecoder().decode(JSONValue.self, from: Data(text))))
    }
}
