import TransferModel

/// One object of the reference: its documented members, without those that are not supported yet.
struct ReferenceObject {
    struct Member {
        var name: String
        var field: Field
    }

    var name: String
    /// The object whose members it has too, and which of those it lacks.
    var base: (name: String, without: [String])?
    var members: [Member]

    init(_ type: any WireObject.Type) {
        name = type.wireName
        members = Self.members(of: type)
        guard type == TaskView.self else { return }
        let shown = Set(Self.visibleSpecFields.map(\.name))
        let lacks = Self.members(of: TaskSpec.self).map(\.name).filter { !shown.contains($0) }
        base = (TaskSpec.wireName, lacks)
    }

    /// Every member, including those of the base.
    var allMembers: [Member] { (base == nil ? [] : Self.visibleSpecFields) + members }

    private static func members(of type: any WireObject.Type) -> [Member] {
        type.fields.map { Member(name: $0.name, field: $0.field) }
    }

    private static let visibleSpecFields = members(of: TaskSpec.self).filter { !TaskView.secrets.contains($0.name) }

    /// Every object that methods and notifications use, by name.
    static let all: [ReferenceObject] = {
        var found: [String: any WireObject.Type] = [
            EventView.wireName: EventView.self, TaskData.wireName: TaskData.self,
        ]
        func visit(_ type: WireType) {
            switch type {
            case .object(let object): visit(object)
            case .list(let element), .map(let element): visit(element)
            case .either(let types): types.forEach(visit)
            case .string, .integer, .number, .boolean, .null, .any, .time, .seconds, .byteCount, .byteRate, .taskID,
                .sequence,
                .userID, .choice:
                break
            }
        }
        func visit(_ object: any WireObject.Type) {
            guard found[object.wireName] == nil else { return }
            found[object.wireName] = object
            for (_, field) in object.fields { visit(field.type) }
        }
        for method in allMethods {
            for (_, field) in parameters(of: method) { visit(field.type) }
            visit(result(of: method))
        }
        visit(TaskSpec.self)
        return found.values.map { ReferenceObject($0) }.filter { !$0.members.isEmpty }.sorted { $0.name < $1.name }
    }()

    static func parameters(of method: any RPCMethod.Type) -> [(name: String, field: Field)] { fields(of: method) }

    private static func fields<M: RPCMethod>(of _: M.Type) -> [(name: String, field: Field)] { M.Parameters.fields }

    static func result(of method: any RPCMethod.Type) -> any WireObject.Type { resultType(of: method) }

    private static func resultType<M: RPCMethod>(of _: M.Type) -> any WireObject.Type { M.Result.self }
}

extension TaskView {
    /// Members of a spec that only `task.get` with `secrets` returns.
    static let secrets: Set<String> = ["password", "bearer", "cookies", "resumeData"]
}
