import TransferCore
import TransferModel

/// Link fields: they give only complete http URLs without user information, each once, with the best priority first.
struct LinkProbe: Probe {
    var duplicates: @Sendable ([HeaderField], _ base: String) -> [LinkFields.Duplicate]

    static let target = FuzzTarget(
        "link",
        words: [
            "<https://m.example/f>", "; rel=duplicate", "; rel=\"describedby duplicate\"", "; pri=1", "; pri=-9", ", ",
            "<//u:p@h/>", "<../x>", "<?q>", "<file:///etc/passwd>", "; anchor=\"#a\"", "\"", "\\", "\u{301}", "<", ">",
        ],
        LinkProbe { LinkFields.duplicates($0, base: $1) },
        // A priority is accepted without a check.
        planted: LinkProbe { fields, base in
            LinkFields.duplicates(fields, base: base).map { link in
                var link = link
                if fields.contains(where: { $0.value.contains("pri=-") }) { link.priority = -1 }
                return link
            }
        })

    func check(_ input: [UInt8]) throws {
        let fields = input.split(separator: 10).map { HeaderField("Link", fieldValue(Array($0))) }
        let links = duplicates(fields, "https://example.org/a/b?c")
        try hold(Set(links.map(\.url)).count == links.count, "a link is there twice")
        var last = 0
        for link in links {
            try hold((1...999_999).contains(link.priority) && link.priority >= last, "priority \(link.priority)")
            last = link.priority
            let url = try? URLRules.parse(link.url)
            try hold(url?.requestURL == link.url, "\(shown(link.url)) is no URL as it is asked for")
            try hold(url?.scheme == .http || url?.scheme == .https, "\(shown(link.url)) is not of the web")
            try hold(url?.username == nil && url?.password == nil, "\(shown(link.url)) has credentials")
        }
    }
}
