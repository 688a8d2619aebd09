import Foundation
import TestSupport
import Testing

/// Fails if a program is started that the installers do not know. It would be missing on a fresh machine.
@Suite struct StartedProgramTests {
    private static let scripts: [String] = {
        let files = ["scripts", "Tests", "Benchmarks"].flatMap { Checkout.files(below: $0) }.filter {
            !$0.contains("Corpus/")
        }
        return [".ci/run"]
            + files.filter { file in
                let name = file.split(separator: "/").last ?? ""
                guard !name.contains(".") || name.hasSuffix(".sh") else { return false }
                let start = (try? Checkout.text(file))?.prefix(60) ?? ""
                return start.hasPrefix("#!/usr/bin/env bash") || start.hasPrefix("#!/bin/sh")
                    || start.contains("shellcheck shell")
            }
    }()

    /// Returns all programs that are started, and the files that start them.
    private static func started() throws -> [(program: String, file: String)] {
        let shell = try scripts.map { ($0, ShellReader(try Checkout.text($0))) }
        let functions = shell.reduce(into: Set<String>()) { $0.formUnion($1.1.functions) }
        var found = shell.map { ($0.0, Set($0.1.programs(defined: functions).compactMap(ProgramTable.name))) }
        for folder in ["Sources", "Tests"] {
            for file in Checkout.files(below: folder, suffix: ".swift") where !file.contains("HouseTests") {
                found.append((file, ProgramReaders.swift(try Checkout.text(file), in: file)))
            }
        }
        for folder in ["scripts", "Tests", "Benchmarks", "clients"] {
            for file in Checkout.files(below: folder, suffix: ".py") {
                found.append((file, ProgramReaders.python(try Checkout.text(file))))
            }
        }
        found.append(("Makefile", ProgramReaders.make(try Checkout.text("Makefile"))))
        return found.flatMap { file, programs in programs.sorted().map { ($0, file) } }
    }

    @Test func everyProgramThatIsStartedIsInTheTable() throws {
        let table = try #require(ProgramTable.ofCheckout)
        let missing = try Self.started().filter { program, file in
            program != "dlctl" && program != "dld" && !table.has(program, for: ProgramTable.use(of: file))
        }
        let advice = missing.map { program, file in
            "\(file) starts \(program): \(ProgramTable.path) needs a row of it with \(ProgramTable.use(of: file)) among its uses"
        }
        #expect(advice == [])
    }

    @Test func everyProgramOfTheTableIsNamedSomewhere() throws {
        let texts = ["Sources", "scripts", "Tests", "Benchmarks", ".ci", "Makefile"].flatMap { folder in
            (folder == "Makefile" ? [folder] : Checkout.files(below: folder)).filter { $0 != ProgramTable.path }
        }
        .filter { !$0.contains("Corpus/") && !$0.contains("HouseTests/") }.map { (try? Checkout.text($0)) ?? "" }
        for case let program? in try #require(ProgramTable.ofCheckout).rows.map(\.program) {
            #expect(texts.contains { $0.contains(program) }, "nothing starts \(program) any more: take its row away")
        }
    }

    @Test func theTableIsInForm() throws {
        let rows = try #require(ProgramTable.ofCheckout).rows
        for row in rows {
            let name = row.program ?? row.package ?? "?"
            #expect(row.program != nil || row.package != nil)
            #expect(!row.uses.isEmpty && row.uses.allSatisfy(ProgramTable.uses.contains), "\(name): \(row.uses)")
        }
        let programs = rows.compactMap(\.program)
        #expect(Set(programs).count == programs.count, "each program has one row")
    }

    /// All other programs are started through these files. They check names that no source contains literally against
    /// the table.
    @Test func processesAreStartedInFewPlaces() throws {
        let known: Set<String> = [
            "Sources/DaemonKit/Monitors/ChildProcess.swift", "Sources/dlctl/Daemon/DaemonLauncher.swift",
            "Sources/dlctl/Daemon/OtherProgram.swift",
            "Sources/TransferNetworking/Daemon/Daemon.swift",
            "Tests/Support/System/Program.swift", "Tests/dlctlTests/Support/Program.swift",
            "Tests/dlctlTests/Commands/ProgramTests.swift", "Tests/Simulation/Simulate.swift",
        ]
        let start = #/\bposix_spawnp?\(|\bexecv[pe]*\(|[^.\w]Process\(\)|\bpopen\(|[^.\w]system\(\s*"/#
        for file in ["Sources", "Tests"].flatMap({ Checkout.files(below: $0, suffix: ".swift") })
        where !known.contains(file) && !file.contains("HouseTests/") {
            let lines = try Checkout.text(file).lines(with: "posix_spawn", "execv", "Process()", "popen(", "system(")
            let starts = lines.split(separator: "\n").contains { line in
                !line.drop(while: \.isWhitespace).hasPrefix("//") && line.contains(start)
            }
            #expect(!starts, "\(file) starts a process by itself: Program of Tests/Support does so")
        }
    }

    @Test(arguments: [
        ("cd x && planted --now", ["planted"]), ("if ! planted; then :; fi", ["planted"]),
        ("a=$(planted one | two)", ["planted", "two"]),
        ("echo \"is $(planted) here\"", ["planted"]),
        ("retry as_root env A=b planted x", ["as_root", "env", "planted", "retry"]),
        ("case $1 in (a | b) planted ;; *) two ;; esac; three", ["planted", "three", "two"]),
        ("list=(one two $(planted))", ["planted"]), ("cat <<END\nnot this\nEND\nplanted", ["cat", "planted"]),
        ("planted() { two; }; planted", ["two"]), ("x() (planted)", ["planted"]),
        ("echo a >b 2>&1; planted", ["planted"]),
        ("[[ -n $a && b =~ ^(c|d)$ ]] || planted", ["planted"]),
        ("for ((i = 0; i < 2; i++)); do planted; done", ["planted"]),
        ("for one in two three; do planted; done", ["planted"]), ("echo one # two; three\nplanted", ["planted"]),
        ("timeout --kill-after=10 20 planted", ["planted", "timeout"]), ("diff <(planted) file", ["diff", "planted"]),
        ("at_end \"planted '$x'\"", ["at_end", "planted"]), ("sh -c 'planted; two'", ["planted", "sh", "two"]),
        ("command -v planted >/dev/null || true", ["planted"]), ("echo 'it; is' \"not; this\"", []),
        ("a=${b:-$(planted)} c", ["c", "planted"]), ("one | while read -r x; do planted; done", ["one", "planted"]),
    ])
    func scriptsAreRead(script: String, programs: [String]) {
        #expect(ShellReader(script).programs().sorted() == programs)
    }

    @Test(arguments: [
        (#"try await Program.run(["planted", "-x"])"#, ["planted"]), (#"Program.require([\n  "planted""#, []),
        ("Program(\n    [\"planted\", one])", ["planted"]),
        (#"server.startServer(["/usr/sbin/planted"])"#, ["planted"]),
        (#".enabled(if: Requirements.has("planted", "two"))"#, ["planted", "two"]), (#"let shell = "/bin/sh""#, ["sh"]),
        (#"Program.run(["sh", "-c", "planted \(file) | two"])"#, ["planted", "sh", "two"]),
        (#"// Program(["no"])"#, []),
        (#"Program.run([try Binaries.path("dld")])"#, []),
        (#"try await install("echo hello >&2; planted -o x > \(mark).new; exec two 60")"#, ["planted", "two"]),
        (
            "let script = \"\"\"\n    cd '\\(folder.path)' && planted\n    \"\"\"\nrun([\"sh\", \"-c\", script])",
            ["planted"]
        ),
        (##"Files.program(path, "#!/bin/sh\nplanted '%s' > \(file.name("x"))\n")"##, ["planted"]),
    ])
    func swiftIsRead(source: String, programs: [String]) {
        #expect(ProgramReaders.swift(source).sorted() == programs)
    }

    @Test(arguments: [
        (#"subprocess.run(["planted", *words])"#, ["planted"]), (#"shutil.which("planted") is not None"#, ["planted"]),
        (#"self.run("no", "-x")"#, []), (#"run("planted", "--x")"#, ["planted"]),
        (#"A = {"b": (["planted", "-q"], 1)}"#, ["planted"]),
    ])
    func pythonIsRead(source: String, programs: [String]) {
        #expect(ProgramReaders.python(source).sorted() == programs)
    }

    @Test func recipesAreRead() {
        let text = "a: $(B)\n\t@planted \"$(C)\" $$(two)\n\tscripts/x $(if $(shell no),y)\n"
        #expect(ProgramReaders.make(text).sorted() == ["planted", "two"])
    }

    /// Names that no source contains literally are checked against the table when they are started.
    @Test(arguments: ["planted-program", "/usr/bin/planted-program"])
    func aProgramWithoutARowIsNotStarted(name: String) {
        let refusal = #expect(throws: SupportError.self) { try Program([name]) }
        #expect(refusal.map { "\($0)".contains(ProgramTable.path) } == true)
    }

    /// Otherwise a connection of another test stays open when its server has closed it.
    @Test func aProgramInheritsNothing() async throws {
        let open = try FileHandle(forReadingFrom: Checkout.root.appendingPathComponent("README.md"))
        let descriptor = fcntl(open.fileDescriptor, F_DUPFD, 100)
        defer { close(descriptor) }
        let script = "test -e /proc/self/fd/0 && ! test -e /proc/self/fd/\(descriptor)"
        let (status, output) = try await Program.run(["sh", "-c", script])
        #expect(descriptor >= 100 && status == 0, "\(output)")
    }

    @Test(arguments: ["bench", "torture"]) func pythonStartsNothingWithoutARow(use: String) async throws {
        let planted = """
            import subprocess, sys
            sys.path.insert(0, sys.argv[1])
            from bench.programs import hold_to_table
            hold_to_table("\(use)")
            subprocess.run(["openssl", "version"], check=True)
            try:
                subprocess.run(["planted-program"])
            except RuntimeError as problem:
                print("refused:", problem)
            """
        let folder = Checkout.root.appendingPathComponent("Benchmarks").path
        let (status, output) = try await Program.run(["python3", "-B", "-c", planted, folder])
        #expect(status == 0 && output.contains("refused: planted-program is started"), "\(output)")
    }

    /// The defect that this suite looks for: one installer knows the program, but another use starts it.
    @Test func aProgramOfAnotherUseIsNotEnough() {
        let table = ProgramTable(text: "mkfs.btrfs btrfs-progs torture\ngcc gcc build\n")
        #expect(table.has("mkfs.btrfs", for: "torture") && !table.has("mkfs.btrfs", for: "test"))
        #expect(table.has("gcc", for: "test") && !table.has("gcc", for: "product"))
    }
}
