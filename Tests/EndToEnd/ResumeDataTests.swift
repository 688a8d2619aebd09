import Glibc
import TestSupport
import Testing
import TransferModel

extension EndToEnd.Downloading {
    struct ResumeData {
        private let resource = Resource.version(1, size: 8 << 20)

        @Test(.timeLimit(.minutes(1)))
        func resumeDataContinuesOnADaemonThatKnowsNothing() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .stalling(resource, at: 6 << 20, rate: 4 << 20), .good(resource))
            let id = try await scene.add("/file", to: "file", ["username": "me", "password": "Tops3cret"])
            try await scene.probe.wait(for: id, bytes: 2 << 20)
            let result = try await scene.probe.call("task.resumeData", ["id": .integer(id)])
            let blob = try #require(result["resumeData"])
            #expect(try await scene.probe.state(id) == "cancelled")
            try await scene.daemon.kill()

            let other = try await DaemonProcess.started()
            let probe = try await other.probe()
            let again = try await probe.add([["resumeData": blob]])[0]
            try await probe.wait(for: again, "completed")
            #expect(resource.content.matches(scene.file()))
            #expect(scene.names == ["file"])
            #expect((scene.origin.requests("/file").last?.rangeStart ?? 0) >= 2 << 20)
        }

        @Test(.timeLimit(.minutes(1)))
        func aFailureSaysWhetherItsPartIsKept() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .good(resource, cutAfter: 3 << 20), .status(404), .good(resource))
            let kept = try await scene.add()
            let task = try await scene.probe.wait(for: kept, "failed")
            #expect(task["error", "resumable"] == true, "\(task)")
            let event = try #require(
                try await scene.probe.storedEvents(["tasks": [.integer(kept)], "types": ["task.failed"]]).first)
            #expect(event["error"] == task["error"])
            let listed = try await scene.probe.call("task.list", ["ids": [.integer(kept)]])
            #expect(listed["tasks"]?.arrayValue?.first?["error"] == task["error"])
            let blob = try #require(try await scene.probe.call("task.resumeData", ["id": .integer(kept)])["resumeData"])
            #expect(try await scene.probe.state(kept) == "failed")
            let new = try await scene.probe.add([["resumeData": blob]])[0]
            try await scene.probe.wait(for: new, "completed")
            #expect(resource.content.matches(scene.file()))
            #expect(scene.origin.requests("/file").last?.rangeStart == 3 << 20)

            // Nothing came, or what came was dropped.
            scene.origin.serve("/none", .status(404))
            scene.origin.serve("/wrong", .good(resource))
            let digest: JSONValue = ["algorithm": "sha-1", "value": .string(String(repeating: "0", count: 40))]
            for id in [
                try await scene.add("/none", to: "none"),
                try await scene.add("/wrong", to: "wrong", ["checksum": digest]),
            ] {
                let task = try await scene.probe.wait(for: id, "failed")
                #expect(task["error", "code"] != nil && task["error", "resumable"] == nil, "\(task)")
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func aCancelledTaskThatKeepsItsPartHasResumeData() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .stalling(resource, at: 6 << 20, rate: 4 << 20), .good(resource))
            let old = try await scene.add()
            try await scene.probe.wait(for: old, bytes: 2 << 20)
            #expect(try await scene.probe.control("cancel", old, ["keepPartial": true]))
            let blob = try #require(try await scene.probe.call("task.resumeData", ["id": .integer(old)])["resumeData"])
            #expect(try await scene.probe.state(old) == "cancelled")
            let new = try await scene.probe.add([["resumeData": blob]])[0]
            try await scene.probe.wait(for: new, "completed")
            #expect((scene.origin.requests("/file").last?.rangeStart ?? 0) >= 2 << 20)
            #expect(resource.content.matches(scene.file()))
        }

        @Test(.timeLimit(.minutes(1)))
        func aCancelledTaskThatKeepsNothingHasNone() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .stalling(resource, at: 6 << 20, rate: 4 << 20))
            let id = try await scene.add()
            try await scene.probe.wait(for: id, bytes: 2 << 20)
            #expect(try await scene.probe.control("cancel", id))
            let refusal = try await #require(throws: RPCFailure.self) {
                try await scene.probe.call("task.resumeData", ["id": .integer(id)])
            }
            #expect(refusal.code == "task.wrong_state" && refusal.message.contains("keepPartial"), "\(refusal)")
        }

        @Test(.timeLimit(.minutes(1)))
        func aPartThatWentWithResumeDataIsNotTheOldTasksAnyMore() async throws {
            let scene = try await Scene()
            scene.origin.serve(
                "/file", .stalling(resource, at: 6 << 20, rate: 4 << 20), .good(resource), .good(resource))
            let old = try await scene.add("/file", to: "file")
            try await scene.probe.wait(for: old, bytes: 2 << 20)
            let blob = try #require(try await scene.probe.call("task.resumeData", ["id": .integer(old)])["resumeData"])
            let new = try await scene.probe.add([["resumeData": blob]])[0]
            try await scene.probe.wait(for: new, "completed")
            #expect(try await scene.probe.control("retry", old))
            try await scene.probe.wait(for: old, "completed")
            #expect(try await scene.probe.task(old)["file"] != scene.probe.task(new)["file"])
            #expect(try await scene.probe.control("remove", old, ["deleteFile": true]))
            #expect(await eventually { scene.names == ["file"] })
            #expect(resource.content.matches(scene.file()))
        }

        /// After taking resume data, a user usually removes the old task, perhaps long before the new one runs.
        @Test(.timeLimit(.minutes(1)))
        func aPartThatWentWithResumeDataStaysWhenTheOldTaskGoes() async throws {
            let scene = try await Scene()
            scene.origin.serve("/file", .stalling(resource, at: 6 << 20, rate: 4 << 20), .good(resource))
            let old = try await scene.add("/file", to: "file")
            try await scene.probe.wait(for: old, bytes: 2 << 20)
            let blob = try #require(try await scene.probe.call("task.resumeData", ["id": .integer(old)])["resumeData"])
            let new = try await scene.probe.add([["resumeData": blob, "startPaused": true]])[0]
            #expect(try await scene.probe.control("remove", old))
            #expect(try await scene.probe.control("resume", new))
            try await scene.probe.wait(for: new, "completed")
            #expect((scene.origin.requests("/file").last?.rangeStart ?? 0) >= 2 << 20)
            #expect(resource.content.matches(scene.file()))
            #expect(scene.names == ["file"])
        }

        @Test(.timeLimit(.minutes(1)))
        func resumeDataThatSomebodyMadeUpIsRefused() async throws {
            let scene = try await Scene()
            for blob in ["", "AAAA", "eyJ2ZXJzaW9uIjoxfQ=="] {
                await #expect(throws: RPCFailure.self) { try await scene.probe.add([["resumeData": .string(blob)]]) }
            }
        }
    }
}
