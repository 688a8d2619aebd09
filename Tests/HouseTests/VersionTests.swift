import Testing

/// `Product.version` is the only source of the version. Debian's tools and Python cannot read it, so their copies are compared;
/// `make release` compares the built programs too.
@Suite struct VersionTests {
    @Test(arguments: [
        ("packaging/debian/changelog", "dld ("), ("clients/python/dld/__init__.py", "__version__ = \""),
    ])
    func everyCopyAgrees(_ file: String, _ mark: String) throws {
        #expect(try word(after: mark, in: file) == version())
    }

    /// Between releases, changes are collected under the first heading of this name.
    @Test func theChangelogBeginsWithIt() throws {
        #expect(["Unreleased", try version()].contains(try word(after: "\n## ", in: "CHANGELOG.md")))
    }

    private func version() throws -> String {
        try word(after: "version = \"", in: "Sources/TransferModel/Product.swift")
    }

    private func word(after mark: String, in file: String) throws -> String {
        let text = try Checkout.text(file)
        let start = try #require(text.firstRange(of: mark)?.upperBound, "\(file) has no version")
        return String(text[start...].prefix { !$0.isWhitespace && !"\")]".contains($0) })
    }
}
