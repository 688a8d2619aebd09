import TransferModel

/// Which upload protocol a spec asks for.
package enum UploadChoice {
    /// The values that `uploadProtocol` accepts.
    package static let names: [String] =
        ["auto"] + UploadProtocol.allCases.filter { $0 != .file }.map(\.rawValue)

    /// nil means that the server must be asked. A begun upload keeps its protocol.
    /// - Throws: `request.bad_field` for an unknown name.
    package static func `protocol`(
        of spec: TaskSpec, stored: UploadProgress? = nil
    ) throws(TransferError) -> UploadProtocol? {
        if let stored { return stored.uploadProtocol }
        guard let name = spec.uploadProtocol else { return implied(spec) }
        if name == "auto" { return nil }
        guard let kind = UploadProtocol(rawValue: name), kind != .file else {
            throw TransferError.bad(
                "uploadProtocol", "\"\(name.prefix(40))\" is none of \(names.joined(separator: ", ")).")
        }
        return kind
    }

    /// The protocol that other fields imply if none is named.
    private static func implied(_ spec: TaskSpec) -> UploadProtocol? {
        if spec.s3 != nil { return .s3Multipart }
        if spec.formField != nil || spec.formFields != nil { return .multipart }
        switch spec.method?.uppercased() {
        case "PUT"?: return .put
        case "POST"?: return .post
        case .some: return .put
        case nil: return nil
        }
    }
}
