"""How each attack runs its cases: first the controls, which must fail, then the cases in several processes."""
from torture import blocks, disks, filesystem, kill, loss, networks, power, real, simulate, soak, storm, tampering
from torture.stage import Stage, timed

#: What the processes with the cases share. Set before they are forked.
SETUP = RECORDER = SIMULATOR = None
KINDS = ("ext4", "xfs")


def kill_case(pair):
    return timed(lambda: kill.case(SETUP, *pair))


def run_kill(run):
    if run.chosen.case:
        call, how = run.chosen.case.split(":")
        return run.tally("kill", "kill", [kill.case(run.setup, int(call), how)])
    calls, notes, problems = kill.clean(run.setup)
    run.say(f"a run that nobody attacks: {calls} calls")
    if problems:
        raise SystemExit(f"it goes wrong without an attack: {[str(problem) for problem in problems]}")
    run_checker(run)
    for plant, shares in kill.CONTROLS.items():
        caught = []
        for share in shares:
            caught = caught or kill.case(run.setup, int(calls * share), "before", [plant]).problems
        run.control("kill", plant, caught)
    limit = run.chosen.cases or (24 if run.chosen.short else None)
    cases = kill.cases(notes, run.seed, run.chosen.calls, limit)
    run.tally("kill", f"dies at one of {calls} calls", run.each(kill_case, cases))


def run_checker(run):
    """The checker's own test: it has to notice every damage to the files of a good run."""
    stage = Stage(run.setup)
    stage.live()
    unseen = tampering.unseen(stage)
    count = len(tampering.SQL) + len(tampering.FILES)
    stage.end()
    run.control("kill", f"{count} damages that the checker has to see", [] if unseen else ["all of them"])
    if unseen:
        run.say(f"    unseen: {unseen}")


def run_storm(run):
    seconds = run.chosen.seconds or (8 if run.chosen.short else 45)
    run.tally("storm", f"kill -9 under {storm.CLIENTS} clients", [storm.run(run.setup, run.seed, seconds)])


def kinds(run):
    found = [kind for kind in KINDS if filesystem.available(kind)]
    if not found:
        run.say("left out: mounting needs root and mkfs")
    return found


def power_case(pair):
    return timed(lambda: power.case(SETUP, *pair))


def run_power(run):
    if run.chosen.case:
        kind, call = run.chosen.case.split(":")
        return run.tally("power", f"power: {kind}", [power.case(run.setup, kind, int(call))])
    found = kinds(run)
    if not found:
        return
    calls = kill.clean(run.setup)[0]
    for plant in ("no-sync", "no-log-sync"):
        caught = []
        for share in (0.9, 0.8, 0.7, 0.6, 0.5, 0.95):
            caught = caught or power.case(run.setup, found[0], int(calls * share), [plant]).problems
        run.control("power", plant, caught)
    for kind in found:
        cases = power.cases([kind], calls, run.seed, run.chosen.cases or 100)
        run.tally("power", f"power cut on {kind}", run.each(power_case, cases))


def blocks_case(triple):
    return blocks.case(SETUP, RECORDER, *triple)


def run_blocks(run):
    global RECORDER
    found = kinds(run)
    if not found:
        return
    RECORDER = run.native("blocklog")
    if run.chosen.case:
        kind, seed, count = run.chosen.case.split(":")
        return run.tally("blocks", f"blocks: {kind}", blocks_case((kind, int(seed), int(count))))
    for plant in ("no-sync", "no-log-sync"):
        results = blocks.case(run.setup, RECORDER, found[0], run.seed, 12, [plant])
        run.control("blocks", plant, [problem for result in results for problem in result.problems])
    for kind in found:
        cases = blocks.cases([kind], run.seed, run.chosen.cases or 200, 20)
        results = (result for results in run.each(blocks_case, cases) for result in results)
        run.tally("blocks", f"images of {kind} at any write", results)


def loss_case(triple):
    return timed(lambda: loss.case(SETUP, *triple))


def run_loss(run):
    if run.chosen.case:
        how, seed, place = run.chosen.case.split(":")
        return run.tally("loss", f"loss: {how}", [loss.case(run.setup, how, int(seed), int(place))])
    caught = []
    for number in range(4):
        caught = caught or loss.case(run.setup, "kill", run.seed, number, forgets=True).problems
    run.control("loss", "lost-journal", caught)
    for how in ["kill", *kinds(run)]:
        cases = loss.cases(how, run.seed, run.chosen.cases or 8)
        run.tally("loss", f"what is fetched again after {loss.NAMES[how]}", run.each(loss_case, cases))


def disks_case(case):
    return timed(lambda: disks.case(SETUP, *case))


def run_disks(run):
    if run.chosen.case:
        fault, error, length, call = run.chosen.case.split(":")
        return run.tally("disks", "disks", [disks.case(run.setup, fault, error, length, int(call))])
    found = disks.counts(run.setup)
    run.say(f"calls that can fail: {found}")
    caught = disks.case(run.setup, "delivery", "EIO", "some", 1, ["hidden-failure"]).problems
    run.control("disks", "hidden-failure", caught)
    cases = disks.cases(found, run.seed, run.chosen.cases or 600)
    for fault in disks.FAULTS:
        run.tally("disks", f"failing calls: {fault}", run.each(disks_case, [case for case in cases if case[0] == fault]))


def real_case(name):
    return timed(lambda: real.case(SETUP, name))


def run_real(run):
    if run.chosen.case:
        return run.tally("real", "real", [real.case(run.setup, run.chosen.case)])
    names = real.names()
    for control in real.CONTROLS if "full-destination" in names else ():
        run.control("real", control, real.case(run.setup, control).problems)
    run.tally("real", f"disks that fail for real: {', '.join(names)}", run.each(real_case, names))


def networks_case(name):
    return timed(lambda: networks.case(SETUP, name))


def run_networks(run):
    if run.chosen.case:
        return run.tally("networks", "networks", [networks.case(run.setup, run.chosen.case)])
    networks.begin(run.work)
    for name in networks.CONTROLS:
        run.control("networks", name, networks.case(run.setup, name).problems)
    groups = networks.groups(run.seed, run.chosen.short)
    for group, names in groups.items():
        run.tally("networks", f"networks: {group}", run.each(networks_case, names))


def run_soak(run):
    seconds = run.chosen.seconds or 60
    for plant in soak.PLANTS:
        planted = soak.run(run.setup, run.seed, soak.PLANTED_SECONDS, plant)
        problems = planted.problems
        if not any(problem.promise == 8 for problem in problems):
            run.say(f"{planted.note}{[str(problem) for problem in problems]}")
        run.control("soak", plant, [problem for problem in problems if problem.promise == 8])
    result = soak.run(run.setup, run.seed, seconds)
    run.say(result.note)
    run.tally("soak", f"{seconds:.0f} s of mixed work", [result])


def simulate_case(pair):
    return timed(lambda: simulate.worlds(SIMULATOR, *pair))


def run_simulate(run):
    global SIMULATOR
    SIMULATOR = simulate.program(run.setup.program)
    if SIMULATOR is None:
        return run.say("left out: `simulate` is not built")
    if run.chosen.case:
        first, count = run.chosen.case.split(":")
        return run.tally("simulate", "simulate", [simulate.worlds(SIMULATOR, int(first), int(count))])
    for plant in simulate.PLANTS:
        run.control("simulate", plant, simulate.caught(SIMULATOR, plant, run.seed))
    cases = simulate.cases(run.seed, run.chosen.cases or 5000)
    run.tally("simulate", "seeded worlds", run.each(simulate_case, cases))


RUNS = {"kill": run_kill, "networks": run_networks, "loss": run_loss, "power": run_power, "blocks": run_blocks, "disks": run_disks,
        "real": run_real, "storm": run_storm, "simulate": run_simulate, "soak": run_soak}
