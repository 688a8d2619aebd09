import Foundation
import Testing
import TransferModel
import TransferRPC

/// Every object of the wire and of the store as it was written before shapes (Fixtures/wire.txt), with all members and with
/// the required ones: it is read, and written again byte for byte.
@Suite struct WireFormTests {
    private static let stored: [any WireObject.Type] = [
        Question.self, Checkpoint.self, UploadProgress.self, TaskStatus.self, TaskResult.self, SettledDecisions.self,
        DecisionAnswer.self, WholeHead.self, ResponseInfo.self,
    ]

    private static let types: [String: any WireObject.Type] = {
        var found: [String: any WireObject.Type] = [:]
        func visit(_ type: WireType) {
            switch type {
            case .object(let object): visit(object)
            case .list(let element), .map(let element): visit(element)
            case .either(let types): types.forEach(visit)
            default: break
            }
        }
        func visit(_ object: any WireObject.Type) {
            guard found.updateValue(object, forKey: object.wireName) == nil else { return }
            for (_, field) in object.fields { visit(field.type) }
        }
        for type in stored { found["\(type)"] = type }
        for method in Methods.all {
            visit(method.parameters)
            visit(method.result)
        }
        for type in [TaskSpec.self, EventView.self, TaskData.self] as [any WireObject.Type] { visit(type) }
        return found
    }()

    private func rewritten<Object: WireObject>(_: Object.Type, _ text: String) throws -> String {
        String(
            decoding: JSONCoding.encode(try JSONCoding.decode(Object.self, from: Array(text.utf8), lenient: true)),
            as: UTF8.self)
    }

    @Test func everyObjectIsWrittenAsItWas() throws {
        let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "Fixtures/wire.txt")
        let lines = try String(contentsOf: fixture, encoding: .utf8).split(separator: "\n")
        #expect(lines.count > 60)
        for line in lines {
            let parts = line.split(separator: "\t")
            let type = try #require(Self.types[String(parts[0])], "\(parts[0])")
            #expect(try rewritten(type, String(parts[1])) == parts[1])
        }
    }
}
