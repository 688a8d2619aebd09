import TransferModel

/// The table of `trust list`: one line for each key.
enum TrustTable {
    static func render(_ servers: [TrustedServer], width: Int?) -> [StyledText] {
        var table = Table(columns: [
            .init(title: "SERVER", isFlexible: true), .init(title: "KEY"), .init(title: "TRUSTED", dispensability: 1),
        ])
        table.rows = servers.flatMap { server in
            server.keys.map { key in
                [
                    StyledText(Printable.text(server.key.origin), .strong), StyledText(Printable.text(key)),
                    StyledText(LocalTime.text(server.trusted)),
                ]
            }
        }
        return table.render(width: width)
    }
}
