import DaemonKit
import FileKit
import TransferModel
import TransferRPC

/// Clients that change the source of a download or the destination of its file, whatever state it is in.
extension Client {
    func update(_ daemon: SimulatedDaemon) {
        let ids = tasks.filter { $0.value.file != nil && !$0.value.isRemoved }.keys.sorted()
        guard !ids.isEmpty else { return }
        let id = ids[world.random.below(ids.count)]
        let change = world.random.chance(500) ? move(id) : retarget(id)
        world.note("update of \(id): \(change.url ?? change.destination?.path ?? "")")
        Task {
            do {
                // Only the owner changes what is requested.
                let owner = try await daemon.supervision.services.reader.record(id, for: Self.peer).session.owner
                let record = try await daemon.supervision.services.updater.update(
                    change, by: owner == Self.user ? Self.peer : Self.other)
                world.note("update of \(id) done: \(record.status.state.rawValue)")
                if let promised = tasks[id]?.promised, tasks[id]?.open == 0, promised != record.status.state {
                    world.violate(
                        "task \(id) was \(promised.rawValue), and an update made it \(record.status.state.rawValue)")
                }
            } catch {
                let code = (error as? TransferError)?.code
                // The task is completed, almost completed, or gone.
                if code != .taskWrongState, code != .taskNotFound { refused("update of \(id)", error) }
            }
        }
    }

    /// Moves the file to another folder (on another file system), to another name, or both.
    private func move(_ id: TaskID) -> UpdateTask {
        let old = tasks[id]?.file ?? ""
        var name = old
        if world.random.chance(400) {
            name += "m"
        }
        // Two tasks may want the same name if one was made from the other's resume data.
        for place in 0...Self.mostTasks {
            let ending = place == 0 ? "" : " (\(place))"
            wanted[name + ending, default: []].formUnion(wanted[old] ?? [])
        }
        mayBeNamed(name, id)
        var change = UpdateTask(id: id)
        let place = World.destinations[world.random.below(World.destinations.count)]
        change.destination = Destination(path: world.folder + place + "/" + name)
        return change
    }

    /// Returns the names that the file may have, whatever happened to the requested moves.
    func names(like name: String) -> [String] {
        func stem(_ name: String) -> Substring {
            var stem = name[..<(name.firstIndex(of: " ") ?? name.endIndex)]
            while stem.last == "m" { stem.removeLast() }
            return stem
        }
        return wanted.keys.filter { stem($0) == stem(name) }
    }

    /// Changes the URL to another host with the same file, or to another file. The bytes of two files must never be
    /// mixed.
    private func retarget(_ id: TaskID) -> UpdateTask {
        let name = tasks[id]?.file ?? ""
        let known = wanted[name]?.filter { $0 != Self.refusal }.sorted() ?? []
        let resource =
            world.random.chance(700) && !known.isEmpty
            ? known[world.random.below(known.count)] : world.random.below(world.resources.count)
        for file in names(like: name) { wanted[file]?.insert(resource) }
        var change = UpdateTask(id: id)
        change.url = world.random.chance(500) ? world.resources[resource].url : world.resources[resource].otherURL
        return change
    }
}
