import TransferModel

extension ProtocolReference {
    /// The OpenRPC 1.3 document that `rpc.discover` answers with.
    /// - Parameter version: of the program.
    package static func openRPC(version: String) -> OpenRPCDocument {
        let schemas = ReferenceObject.all.map { ($0.name, schema(of: $0)) }
        return OpenRPCDocument(
            openrpc: "1.3.2",
            info: ["title": "dld", "version": .string(version)],
            methods: .array(Methods.all.map(describe)),
            components: ["schemas": .object(Dictionary(schemas) { first, _ in first })])
    }

    /// The same as text, with sorted members.
    package static func openRPC() -> String {
        JSONCoding.pretty(openRPC(version: String(RPCCatalog.protocolVersion)))
    }

    private static func describe(_ method: any RPCMethod) -> JSONValue {
        // Generators make a list of arguments of them, in which those that may be absent come last.
        let fields = method.parameters.fields
        let ordered = fields.filter(\.field.isRequired) + fields.filter { !$0.field.isRequired }
        let parameters = ordered.map { name, field -> JSONValue in
            [
                "name": .string(name), "required": .bool(field.isRequired), "description": .string(field.text),
                "schema": schema(of: field.type, title(method.name, name)),
            ]
        }
        let errors = (method.errors + RPCCatalog.commonErrors).reduce(into: [ErrorCode]()) { codes, code in
            if !codes.contains(code) { codes.append(code) }
        }
        return [
            "name": .string(method.name), "summary": .string(method.summary), "paramStructure": "by-name",
            "params": .array(parameters),
            "result": ["name": .string(method.result.wireName), "schema": reference(to: method.result)],
            "errors": .array(errors.map(describe)),
        ]
    }

    private static func describe(_ code: ErrorCode) -> JSONValue {
        [
            "code": .integer(Int64(code.rpcCode)), "message": .string(code.summary),
            "data": ["code": .string(code.rawValue), "retryable": .bool(code.retryable)],
        ]
    }

    private static func schema(of object: ReferenceObject) -> JSONValue {
        let members = object.allMembers
        let properties = members.map { member -> (String, JSONValue) in
            let type = schema(of: member.field.type, title(object.name, member.name))
            guard case .object(var schema) = type else { return (member.name, [:]) }
            if schema["$ref"] == nil { schema["description"] = .string(member.field.text) }
            return (member.name, .object(schema))
        }
        let required = members.filter(\.field.isRequired).map { JSONValue.string($0.name) }
        var described: [String: JSONValue] = [
            "type": "object", "properties": .object(Dictionary(properties) { _, last in last }),
        ]
        if !required.isEmpty { described["required"] = .array(required) }
        if object.isRead { described["additionalProperties"] = false }
        return .object(described)
    }

    /// A name for the words of a member, if their type has none: `task.list` and `order` make `TaskListOrder`.
    private static func title(_ owner: String, _ member: String) -> String {
        (owner.split(separator: ".") + [member[...]]).map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    private static func reference(to object: any WireObject.Type) -> JSONValue {
        object.fields.isEmpty ? ["type": "object"] : ["$ref": .string("#/components/schemas/\(object.wireName)")]
    }

    /// - Parameter title: of words whose type has no name.
    private static func schema(of type: WireType, _ title: String) -> JSONValue {
        switch type {
        case .string: ["type": "string"]
        case .integer, .byteCount, .taskID, .sequence, .userID: ["type": "integer", "format": "int64"]
        case .byteRate: ["type": "integer", "format": "int64", "minimum": 0]
        case .number, .seconds: ["type": "number", "format": "double"]
        case .boolean: ["type": "boolean"]
        case .null: ["type": "null"]
        case .any: [:]
        case .time: ["type": "string", "format": "date-time"]
        case .choice(let names, let name):
            ["type": "string", "title": .string(name ?? title), "enum": .array(names.map { .string($0) })]
        case .list(let element): ["type": "array", "items": schema(of: element, title)]
        case .map(let element): ["type": "object", "additionalProperties": schema(of: element, title)]
        case .object(let object): reference(to: object)
        case .either(let types): ["anyOf": .array(types.map { schema(of: $0, title) })]
        }
    }
}
