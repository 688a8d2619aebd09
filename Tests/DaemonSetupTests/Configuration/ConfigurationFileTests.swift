import TestSupport
import Testing
import TransferModel

@testable import DaemonSetup

@Suite struct ConfigurationFileTests {
    @Test(arguments: [
        ("", [String]()),
        ("# only a comment\n", []),
        ("---\n", []),
        ("- a\n- b\n", ["dld.yaml:1: is not a list of `name: value` lines."]),
        ("just words\n", ["dld.yaml:1: is not a list of `name: value` lines."]),
        ("\n\nlogLevel: [debug\n", ["dld.yaml:4: is not valid YAML: did not find expected ',' or ']'."]),
        ("# a\nlogLevel: \u{7}\n", ["dld.yaml:2: is not valid YAML: control characters are not allowed."]),
        ("---\nlogLevel: info\n---\n", ["dld.yaml:3: is not valid YAML: a second document begins; a file holds one."]),
        ("socket: /a\n? [a]\n: b\n", ["dld.yaml:2: a name is expected here."]),
        (
            "logLevel:\n",
            [
                "dld.yaml:1: logLevel: has no value; give one of trace, debug, info, notice, warning, error, critical, "
                    + "or remove the line."
            ]
        ),
        (
            "logLevel:\n  deep: debug\n",
            [
                "dld.yaml:1: logLevel: holds other settings, but takes one of trace, debug, info, notice, warning, error, "
                    + "critical."
            ]
        ),
        ("session: 5\n", ["dld.yaml:1: session: is a section; write its settings indented on the lines below it."]),
        ("session:\n", []),
        (
            "session:\n  retry:\n    atempts: 5\n",
            [
                "dld.yaml:3: session.retry.atempts: no such setting; did you mean session.retry.attempts?"
            ]
        ),
        (
            "conflictPolicy: fail\n",
            [
                "dld.yaml:1: conflictPolicy: no such setting; did you mean session.conflictPolicy?"
            ]
        ),
        (
            "zzzzzzzz: 1\n",
            [
                "dld.yaml:1: zzzzzzzz: no such setting; remove it; docs/configuration.md lists the settings."
            ]
        ),
        (
            "allowedUnits: [a.service, [b]]\n",
            [
                "dld.yaml:1: allowedUnits: the value is not accepted; give a list of texts."
            ]
        ),
        (
            "historyRetention: 40000d\n",
            [
                "dld.yaml:1: historyRetention: \"40000d\" is not accepted (unit: seconds); give a time in seconds from 0s to "
                    + "36500d; or with w, d, h, m, s, ms: 500ms, 12h, 1h30m."
            ]
        ),
    ])
    func mistakesAreNamedWithTheirLine(text: String, problems: [String]) throws {
        let fixture = try ConfigurationFixture()
        try fixture.write(text, to: fixture.userFile)
        #expect(fixture.problems() == problems)
    }

    @Test func repeatedNamesAreNamedAndTheRestIsStillChecked() throws {
        let fixture = try ConfigurationFixture()
        try fixture.write(
            """
            logLevel: info
            session:
              directory: /a
              retry:
                attempts: 3
              "directory": /b
            logLevel: debug
            allowedUnits:
              - a.service
            allowedUnits:
              - b.service
            progressInterval: never
            """, to: fixture.userFile)
        let problems = fixture.problems()
        #expect(
            problems.dropLast() == [
                "dld.yaml:6: session.directory: is given twice (first on line 3); remove one of the two.",
                "dld.yaml:7: logLevel: is given twice (first on line 1); remove one of the two.",
                "dld.yaml:10: allowedUnits: is given twice (first on line 8); remove one of the two.",
            ])
        #expect(problems.last?.hasPrefix("dld.yaml:12: progressInterval: \"never\" is not accepted") == true)
    }

    /// An error message must not print the password of a mistyped proxy.
    @Test func proxiesAreNotEchoed() throws {
        let fixture = try ConfigurationFixture()
        try fixture.write("session:\n  proxy: ftp://user:secret@proxy\n", to: fixture.userFile)
        let problems = fixture.problems()
        #expect(problems.count == 1)
        #expect(problems.first?.contains("secret") == false)
    }

    @Test func filesThatAreNoTextAreRefused() throws {
        var fixture = try ConfigurationFixture()
        fixture.arguments.configFile = fixture.root
        #expect(fixture.problems() == ["~: cannot be read: it is not a regular file."])
        fixture.arguments.configFile = "/dev/zero"
        #expect(fixture.problems() == ["/dev/zero: cannot be read: it is not a regular file."])
    }
}
