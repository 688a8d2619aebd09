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
        let parameters = method.parameters.fields.map { name, field -> JSONValue in
            [
                "name": .string(name), "required": .bool(field.isRequired), "description": .string(field.text),
                "schema": schema(of: field.type),
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
            guard case .object(var schema) = schema(of: member.field.type) else { return (member.name, [:]) }
            if schema["$ref"] == nil { schema["description"] = .string(member.field.text) }
            return (member.name, .object(schema))
        }
        let required = members.filter(\.field.isRequired).map { JSONValue.string($0.name) }
        return [
            "type": "object", "properties": .object(Dictionary(properties) { _, last in last }),
            "required": .array(required),
        ]
    }

    private static func reference(to object: any WireObject.Type) -> JSONValue {
        object.fields.isEmpty ? ["type": "object"] : ["$ref": .string("#/components/schemas/\(object.wireName)")]
    }

    private static func schema(of type: WireType) -> JSONValue {
        switch type {
        case .string: ["type": "string"]
        case .integer, .byteCount, .taskID, .sequence, .userID: ["type": "integer"]
        case .byteRate: ["type": "integer", "minimum": 0]
        case .number, .seconds: ["type": "number"]
        case .boolean: ["type": "boolean"]
        case .null: ["type": "null"]
        case .any: [:]
        case .time: ["type": "string", "format": "date-time"]
        case .choice(let names): ["type": "string", "enum": .array(names.map { .string($0) })]
        case .list(let element): ["type": "array", "items": schema(of: element)]
        case .map(let element): ["type": "object", "additionalProperties": schema(of: element)]
        case .object(let object): reference(to: object)
        case .either(let types): ["anyOf": .array(types.map { schema(of: $0) })]
        }
    }
}
