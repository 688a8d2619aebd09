import TransferModel
import TransferRPC

/// Shows a set of followed tasks. The loop calls it, and it decides nothing.
protocol FollowDisplay {
    mutating func show(_ changes: [FollowState.Change], _ state: FollowState, now: Timestamp)
    mutating func ended(_ view: TaskView)
    /// Called several times a second.
    mutating func tick(_ state: FollowState, now: Timestamp)
    mutating func resized(_ state: FollowState, now: Timestamp)
    /// Restores the terminal before the program is stopped (Ctrl-Z) or ends.
    mutating func leave()
    mutating func finish(_ state: FollowState, now: Timestamp)
}

extension FollowDisplay {
    mutating func ended(_ view: TaskView) {}
    mutating func tick(_ state: FollowState, now: Timestamp) {}
    mutating func resized(_ state: FollowState, now: Timestamp) {}
    mutating func leave() {}
    mutating func finish(_ state: FollowState, now: Timestamp) {}
}

/// Bars that redraw themselves. Tasks that end become lasting lines above them.
struct LiveDisplay: FollowDisplay {
    private let console: Console
    private var screen: LiveScreen
    private var lasting: [StyledText] = []
    private var ticks = 0

    init(_ console: Console) {
        self.console = console
        screen = LiveScreen(style: console.style)
    }

    mutating func show(_ changes: [FollowState.Change], _ state: FollowState, now: Timestamp) {
        for case .state(let task) in changes where task.isOver {
            lasting.append(ChangeLine.ending(task, width: nil))
        }
    }

    mutating func tick(_ state: FollowState, now: Timestamp) {
        ticks += 1
        draw(state, now: now)
    }

    mutating func resized(_ state: FollowState, now: Timestamp) { draw(state, now: now) }

    mutating func leave() { console.raw(screen.leave()) }

    mutating func finish(_ state: FollowState, now: Timestamp) {
        let size = Terminal.size()
        let total = state.tasks.count > 1 ? [TotalLine(state).render(width: size.columns - 1)] : []
        console.raw(screen.draw([], lasting: lasting + total, size: size))
        lasting = []
        console.raw(screen.end(size: size))
    }

    private mutating func draw(_ state: FollowState, now: Timestamp) {
        let size = Terminal.size()
        let block = LiveView.render(state, size: size, now: now, tick: ticks)
        console.raw(screen.draw(block, lasting: lasting, size: size))
        lasting = []
    }
}

/// One line for each change of state, and progress now and then: for logs and pipes.
struct LineDisplay: FollowDisplay {
    private let print: (String) -> Void
    private let remark: (String) -> Void
    private var lastProgress: Timestamp?

    static let progressInterval: Seconds = 10
    /// If more tasks than this run, one line summarises all of them.
    static let mostProgressLines = 4

    /// - Parameter remark: prints next to the lines what somebody must do.
    init(print: @escaping (String) -> Void, remark: @escaping (String) -> Void) {
        self.print = print
        self.remark = remark
    }

    mutating func show(_ changes: [FollowState.Change], _ state: FollowState, now: Timestamp) {
        changes.compactMap { ChangeLine.log($0, now: now) }.forEach(print)
        changes.compactMap(ChangeLine.question).forEach(remark)
    }

    mutating func tick(_ state: FollowState, now: Timestamp) {
        guard let lastProgress else {
            self.lastProgress = now
            return
        }
        guard now.since(lastProgress) >= Self.progressInterval else { return }
        self.lastProgress = now
        let running = state.all.filter { $0.state == .running && $0.received.rawValue > 0 }
        if running.count > Self.mostProgressLines {
            print(TotalLine(state).render(width: .max).plain)
        } else {
            running.map(ChangeLine.progress).forEach(print)
        }
    }
}

/// `--json`: prints each task as one line when it ends. Questions and pauses go to standard error.
struct JSONDisplay: FollowDisplay {
    let console: Console
    private var printed: Set<TaskID> = []

    init(_ console: Console) { self.console = console }

    mutating func show(_ changes: [FollowState.Change], _ state: FollowState, now: Timestamp) {
        changes.compactMap { ChangeLine.question($0) ?? ChangeLine.pause($0) }.forEach(console.complain)
    }
    mutating func ended(_ view: TaskView) {
        if printed.insert(view.id).inserted { console.value(view) }
    }
}

/// `-q`: prints only failures.
struct SilentDisplay: FollowDisplay {
    let complain: (String) -> Void

    mutating func show(_ changes: [FollowState.Change], _ state: FollowState, now: Timestamp) {
        for case .state(let task) in changes where task.hasFailed {
            complain("\(task.id) \(task.name): \(task.ending)")
        }
    }
}
