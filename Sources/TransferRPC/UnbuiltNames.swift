import TransferModel

extension WireObject {
    /// Names of members that this version does not support yet: they are refused by name and omitted from the reference.
    package static var unbuiltNames: [String] { shape.rows.filter { !$0.isBuilt }.map(\.name) }
}

extension SessionConfiguration {
    /// - Parameter path: of the configuration in the message.
    /// - Throws: `request.unsupported` that names a field which is not supported yet.
    package func checkIsBuilt(path: String) throws(TransferError) {
        guard let name = Self.shape.present(in: self).first(where: { !$0.isBuilt })?.name else { return }
        throw TransferError.bad(
            path.isEmpty ? name : "\(path).\(name)", "this is not built yet; daemon.info.features lists what is.",
            .unsupported)
    }
}
