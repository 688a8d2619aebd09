import TransferModel

/// The table of `hsts list`.
enum HSTSTable {
    static func render(_ hosts: [HSTSHost], width: Int?) -> [StyledText] {
        var table = Table(columns: [
            .init(title: "DOMAIN", isFlexible: true), .init(title: "SUBDOMAINS", dispensability: 1),
            .init(title: "LEARNED", dispensability: 2), .init(title: "EXPIRES"),
        ])
        table.rows = hosts.map { host in
            [
                StyledText(Printable.text(host.domain), .strong),
                StyledText(host.includesSubdomains ? "yes" : "no"),
                StyledText(LocalTime.text(host.learned)), StyledText(LocalTime.text(host.expires)),
            ]
        }
        return table.render(width: width)
    }
}
