import TransferModel
import TransferRPC

/// The table of `credential list`.
enum CredentialTable {
    static func render(_ credentials: [CredentialView], width: Int?) -> [StyledText] {
        var table = Table(columns: [
            .init(title: "SERVER", isFlexible: true), .init(title: "REALM", dispensability: 1), .init(title: "USER"),
            .init(title: "KEPT", dispensability: 2), .init(title: "FLAGS", dispensability: 3),
        ])
        table.rows = credentials.map { credential in
            let space = credential.protectionSpace
            return [
                StyledText((space.isProxy ? "proxy " : "") + Printable.text(space.origin), .strong),
                StyledText(space.realm.map { "\"\(Printable.text($0))\"" } ?? "any"),
                StyledText(Printable.text(credential.username)), StyledText(credential.persistence.rawValue),
                StyledText(flags(of: credential)),
            ]
        }
        return table.render(width: width)
    }

    private static func flags(of credential: CredentialView) -> String {
        let flags = [
            credential.isRefused ? "refused" : nil, credential.isDefault ? nil : "not default",
            credential.protectionSpace.method?.rawValue,
        ]
        return flags.compactMap { $0 }.joined(separator: ",")
    }
}
