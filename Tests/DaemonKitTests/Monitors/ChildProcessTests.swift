import Glibc
import TestSupport
import Testing
import TransferStore

@testable import DaemonKit

struct ChildProcessTests {
    @Test(arguments: [("exit 0", Int32(0)), ("exit 7", 7), ("kill -9 $$", 137)])
    func theExitStatusComesBack(script: String, expected: Int32) throws {
        let child = try ChildProcess(["sh", "-c", script], environment: ["PATH": "/usr/bin:/bin"])
        child.begin()
        #expect(child.wait() == expected)
    }

    /// A library may have opened a connection that any program would inherit.
    @Test func itInheritsNoDescriptors() throws {
        let temporary = try TemporaryFolder()
        let kept = dup(0)
        defer { close(kept) }
        let script = "ls /proc/$$/fd > \(temporary.file("list")); echo > \(temporary.file("end"))"
        let child = try ChildProcess(["sh", "-c", script], environment: ["PATH": "/usr/bin:/bin"])
        child.begin()
        #expect(child.wait() == 0)
        let open = try Files.text(temporary.file("list")).split(separator: "\n")
        #expect(open.contains("2") && !open.contains("\(kept)"))
    }

    @Test func itHasASessionOfItsOwnAndNoInput() throws {
        let temporary = try TemporaryFolder()
        let script =
            "cat > \(temporary.file("in")); cut -d' ' -f6 /proc/$$/stat > \(temporary.file("session")); echo $$ > \(temporary.file("pid"))"
        let child = try ChildProcess(["sh", "-c", script], environment: ["PATH": "/usr/bin:/bin"])
        child.begin()
        #expect(child.wait() == 0)
        #expect(try Files.read(temporary.file("in")).isEmpty)
        #expect(try Files.text(temporary.file("session")) == "\(child.pid)\n")
    }

    /// Its number can be stored before it does anything. A daemon that dies before that leaves nothing behind.
    @Test func itDoesNothingBeforeItMay() throws {
        let temporary = try TemporaryFolder()
        let script = "echo > \(temporary.file("mark"))"
        let child = try ChildProcess(["sh", "-c", script], environment: ["PATH": "/usr/bin:/bin"])
        let identity = try #require(ProcessTable.identity(of: child.pid))
        #expect(ProcessTable.isRunning(identity))
        child.abandon()
        #expect(child.wait() != 0)
        #expect(!Files.exists(temporary.file("mark")))
        #expect(!ProcessTable.isRunning(identity))
    }

    @Test func aProcessIsKnownByMoreThanItsNumber() throws {
        let child = try ChildProcess(["true"], environment: ["PATH": "/usr/bin:/bin"])
        let identity = try #require(ProcessTable.identity(of: child.pid))
        #expect(ProcessTable.isRunning(identity))
        for change in [{ $0.startTime += 1 }, { $0.boot = "another" }, { $0.pid = 1 }]
            as [(inout ProgramIdentity) -> Void]
        {
            var other = identity
            change(&other)
            #expect(!ProcessTable.isRunning(other))
        }
        child.begin()
        // A zombie does not run any more.
        var information = siginfo_t()
        #expect(waitid(P_PID, id_t(child.pid), &information, WEXITED | WNOWAIT) == 0)
        #expect(!ProcessTable.isRunning(identity))
        #expect(child.wait() == 0)
    }

    /// The kernel cuts the name after 15 bytes, and the program may choose any name.
    @Test func aNameThatIsNoTextHidesNothing() {
        let line =
            Array("42 (a) R ".utf8) + [0xc3]
            + Array(") S \(Array(1...18).map(String.init).joined(separator: " ")) 777 0\n".utf8)
        let fields = ProcessTable.fields(of: line[...])
        #expect(fields?.state == "S" && fields?.startTime == 777)
    }

    /// The variables of the shell that it was are gone.
    @Test func itsEnvironmentIsTheOneThatIsGiven() throws {
        let temporary = try TemporaryFolder()
        let child = try ChildProcess(
            ["cp", "/proc/self/environ", temporary.file("environment")],
            environment: ["PATH": "/usr/bin:/bin", "A": "b"])
        child.begin()
        #expect(child.wait() == 0)
        let names = try Files.text(temporary.file("environment")).split(separator: "\0").map { $0.prefix { $0 != "=" } }
        // bash as sh sets `_`.
        #expect(Set(names).subtracting(["_"]) == ["PATH", "A"])
    }
}
