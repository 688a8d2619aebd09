import TransferModel

/// One object of the reference: its documented members, without those that are not supported yet.
struct ReferenceObject {
    var name: String
    /// The object whose members it has too, and which of those it lacks.
    var base: (name: String, without: [String])?
    var members: [(name: String, field: Field)]
    /// Whether the daemon reads it, and refuses members that it does not know.
    var isRead: Bool

    init(_ type: any WireObject.Type, isRead: Bool) {
        name = type.wireName
        members = type.fields
        self.isRead = isRead
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
        var found: [String: any WireObject.Type] = [:]
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
        }
        let read = found
        for type in [EventView.self, TaskData.self] + Methods.all.map(\.result) { visit(type) }
        return found.values.map { ReferenceObject($0, isRead: read[$0.wireName] != nil) }
            .filter { !$0.members.isEmpty }.sorted { $0.name < $1.name }
    }()
}

extension TaskView {
    /// Members of a spec that only `task.get` with `secrets` returns.
    static let secrets: Set<String> = ["password", "bearer", "cookies", "resumeData"]
}
