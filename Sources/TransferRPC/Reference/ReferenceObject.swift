import TransferModel

/// One object of the reference: its documented members, without those that are not supported yet.
struct ReferenceObject {
    var name: String
    /// The object whose members it has too, and which of those it lacks.
    var base: (name: String, without: [String])?
    var members: [(name: String, field: Field)]

    init(_ type: any WireObject.Type) {
        name = type.wireName
        members = type.fields
        guard type == TaskView.self else { return }
        let shown = Set(Self.visibleSpecFields.map(\.name))
        let lacks = TaskSpec.fields.map(\.name).filter { !shown.contains($0) }
        base = (TaskSpec.wireName, lacks)
    }

    /// Every member, including those of the base.
    var allMembers: [(name: String, field: Field)] { (base == nil ? [] : Self.visibleSpecFields) + members }

    private static let visibleSpecFields = TaskSpec.fields.filter { !TaskView.secrets.contains($0.name) }

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
        for method in Methods.all {
            for (_, field) in method.parameters.fields { visit(field.type) }
            visit(method.result)
        }
        visit(TaskSpec.self)
        return found.values.map { ReferenceObject($0) }.filter { !$0.members.isEmpty }.sorted { $0.name < $1.name }
    }()
}

extension TaskView {
    /// Members of a spec that only `task.get` with `secrets` returns.
    static let secrets: Set<String> = ["password", "bearer", "cookies", "resumeData"]
}
