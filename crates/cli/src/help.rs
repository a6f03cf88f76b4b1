//! The longer help texts, with examples.

/// What the program is, in a line.
pub(crate) const ABOUT: &str = "Is this concurrent program correct on weak memory?";

/// What the program is.
pub(crate) const LONG_ABOUT: &str = "\
    Is this concurrent program correct on weak memory?\n\n\
    Compilers and processors let threads see each other's writes late and out of order. Fencepost \
    decides whether that can make a program do what no interleaving of its threads explains, shows \
    the execution that does it, and says where a fence or a stronger memory order rules it out. A \
    program for which it cannot is called robust: whatever was proved of it by thinking of \
    interleavings is true of it on weak memory, too.";

/// Examples for the program.
pub(crate) const EXAMPLES: &str = "\
A first example: two threads announce themselves, then look for each other. Put this into sb.fp:

    atomic x, y;
    thread left  { local a;  x.store(1, rlx);  a = y.load(rlx); }
    thread right { local b;  y.store(1, rlx);  b = x.load(rlx); }

and ask

    fencepost check sb.fp          robustness violated: both may read 0, and this is how
    fencepost outcomes sb.fp       the final states; a = b = 0 is forbidden by SC, but possible

Then put  fence(seq_cst);  after each store and ask again.

Exit codes: 0 it holds, 1 it is violated, 2 bad input or usage, 3 undecided because of a limit or
Ctrl-C, 4 an internal error (fencepost explain FP0015), 141 nobody reads the output any more.";

/// What `check` does.
pub(crate) const CHECK: &str = "\
    Decides whether weak memory can make a program do what no interleaving of its threads explains \
    (robustness), whether non-atomic accesses race, and whether assertions can fail. Answers are \
    exact: a program is explored completely, or the answer is \"undecided\". Every violation comes \
    with an interleaving that leads to it and an execution that an independent judge has accepted.";

/// Examples for `check`.
pub(crate) const CHECK_EXAMPLES: &str = "\
Examples:
    fencepost check peterson.fp                    against RC11: what C, C++ and Rust mean
    fencepost check --model ra peterson.fp         as if every access were acquire or release
    fencepost check --model sc peterson.fp         assertions in interleavings only
    fencepost check --observational seqlock.fp     stale reads are fine if nobody uses them
    fencepost check SB.litmus                      a litmus test in C or x86, as herd reads it
    fencepost check locks/ 'queues/*.fp'           a line for each program, and a summary
    fencepost check --details locks/               the same, with the story of each violation
    fencepost check --limit-time 30s --limit-memory 2G big.fp
    fencepost check --json locks/ | jq 'select(.verdict == \"violated\") | .file'
    fencepost check --html report.html locks/      a page to look at, with a player for each finding
    fencepost check --sarif out.sarif --junit out.xml locks/        for code scanning and CI

A program says what is shared, what each thread does, and what must be true:

    atomic flag;  na data;
    thread writer { data.nastore(7);  flag.store(1, rel); }
    thread reader {
        local f, d;
        f = flag.load(acq);
        if (f) { d = data.naload();  assert(d == 7); }
    }

With `rlx` instead of `rel`, the reader could see the flag without the data: a race.

Ctrl-C (or SIGTERM) ends a check as a limit does: what is known by then is told, and reports are
written. A second one ends it at once.

Exit codes: 0 everything asked holds, 1 something is violated, 2 bad input or usage,
3 undecided because of a limit or Ctrl-C, 4 an internal error (fencepost explain FP0015).";

/// What `outcomes` does.
pub(crate) const OUTCOMES: &str = "\
    Lists the final states of a small program: what its locals and locations hold when every \
    thread is done or waits forever. States that no interleaving ends in are marked. Under rc11, rc20 and \
    ra all execution graphs are enumerated, under tso, pso and pgas all states of the machine with \
    its store buffers, so this is for litmus tests; `check` is for programs.";

/// What `check-tests` does.
pub(crate) const CHECK_TESTS: &str = "\
    Compiles the tests of a crate and checks each #[test] function as a program: every interleaving of \
    the threads that it starts, and what weak memory adds. Tests need no changes and no crate of ours: \
    `std::thread`, locks, atomics and `Arc` are known. One line per test, one exit code for all. Tests \
    that are ignored are left out. A panic is a failed assertion, also in a test that should panic.";

/// Examples for `check-tests`.
pub(crate) const CHECK_TESTS_EXAMPLES: &str = "\
Examples:
    fencepost check-tests                                all tests of the crate in this folder
    fencepost check-tests queue::                        tests with this in their names
    fencepost check-tests --details -- --package ring    of one package, with the story of each violation
    fencepost check-tests --limit-time 10s --junit tests.xml

Exit codes: 0 every test holds, 1 one is violated, 2 bad input or usage (cargo's messages say why it does
not compile), 3 one is undecided, 4 an internal error.";

/// Examples for `outcomes`.
pub(crate) const OUTCOMES_EXAMPLES: &str = "\
Examples:
    fencepost outcomes sb.fp                  under RC11: what C, C++ and Rust mean
    fencepost outcomes --model sc sb.fp       interleavings only
    fencepost outcomes --model tso sb.fp      on x86, with a store buffer for each thread
    fencepost outcomes --model pso mp.fp      where stores to different addresses overtake each other
    fencepost outcomes --unroll 8 spin.fp     follow loops further
    fencepost outcomes SB.litmus              a litmus test in C or x86: the table that herd prints
    fencepost outcomes sb.c                   a program in C, C++ or Rust: what its variables hold
    fencepost outcomes --json sb.fp

    echo 'atomic x, y;
          thread left  { local a;  x.store(1, rlx);  a = y.load(rlx); }
          thread right { local b;  y.store(1, rlx);  b = x.load(rlx); }' | fencepost outcomes -

Exit codes: 0 these are the states (with loops: up to --unroll), 2 bad input or usage,
3 a limit was reached or Ctrl-C pressed, so there may be more, 4 an internal error.";

/// `fix --help`.
pub(crate) const FIX: &str = "\
Finds the cheapest changes that make a program correct, and prints the changed program, a diff, or writes it.

The changes are orders of atomic accesses and of fences, and new fences. For models with memory orders \
(--model rc11, rc20, ra) the program is then robust and free of races (or safe, with --require safe); for machines \
with store buffers (tso, pso, pgas), where a seq_cst store is a store and a full fence and a release store may need a \
lightweight one, it is robust. Several models may be named at once. What is cheapest is for --cost to say; unless \
the answer says otherwise, nothing cheaper of the kind will do: orders, and fences in front of accesses or behind stores \
that are followed by a loop, a branch or the end of a procedure. What cannot be changed is listed. With --weaken, orders may also become weaker and fences go (and with --only all, new fences come): the \
result is the cheapest program that is correct, in which one order may be stronger so that others can be weaker; with \
--no-stronger, none is. For each change there is a reason: what goes wrong without it. The changed text is \
compiled or read again, and checked again.

With --trf the aim is a program without triangular races instead: no thread stores and then, without a \
full fence between, loads another location just when some thread is about to store there. Such a program \
is robust against TSO, but a robust one may have triangular races, so this may take more fences.";

/// Examples of `fix`.
pub(crate) const FIX_EXAMPLES: &str = "\
Examples:
  fencepost fix peterson.fp                  what has to be stronger on x86
  fencepost fix --only fences --model tso peterson.fp
  fencepost fix --model tso,rc11 peterson.fp one answer for both
  fencepost fix --diff peterson.fp           as a patch
  fencepost fix --write fixed.fp peterson.fp
  fencepost fix --diff lock.c                memory orders and fences that are missing in C
  fencepost fix --weaken --diff lock.c       the weakest orders that work, with a reason for each
  fencepost fix --weaken --cost arm lock.rs  cheapest on Arm
  fencepost fix --in-place main.c queue.c    two files of one program, and the headers they include

Exit codes: 0 fixed (or nothing to fix), 2 bad input, a run-time error or something that no order and no
fence repairs, 3 undecided, 4 an internal error.";

/// `orders --help`.
pub(crate) const ORDERS: &str = "\
Lists every atomic access and fence of a program with its memory order as it is written, the weakest order \
with which the program is still correct (robust and free of races, or safe with --require safe) if all \
others stay, and what goes wrong with one that is weaker still. The program must be correct as it is; \
`fencepost fix` makes it so.

Each line is about one access alone. That two of them can be weaker does not mean that both can be at once: \
`fencepost fix --weaken` finds the weakest orders for all of them together.";

/// Examples of `orders`.
pub(crate) const ORDERS_EXAMPLES: &str = "\
Examples:
  fencepost orders lock.c                    which orders are needed, which are stronger than needed
  fencepost orders --explain 12 lock.c       the execution that a weaker order on line 12 allows
  fencepost orders --json lock.rs

Exit codes: 0 answered, 1 the program is not correct as it is, 2 bad input, 3 undecided, 4 an internal error.";

/// `serial --help`.
pub(crate) const SERIAL: &str = "\
Says whether a recorded run was atomic: TSO-serializable, SC-serializable and SC-equivalent, and if \
not, shows the cycle of transactions. A recording has one event a line:

  T1 begin deposit
  T1 rd balance =3 @bank.c:7
  T1 wr balance =4
  T1 end
  T1 commit balance

Also `T1 rmw x =3 =4` (read 3 and wrote 4 in one step), `T1 fence`, `T1 lock m`, `T1 unlock m`, `T1 abort` \
instead of `end`, and `#` comments. Values are optional; a read may say whose write it saw (`from T2#7`, the \
seventh line of T2, or `from init`). With commits it is an execution, judged as it streams by; without, \
a trace, judged for every order in which its writes may reach memory that fits what was read, or, with \
--predict, for every order.

With --level, or for a history that Jepsen wrote (list-append or registers, EDN or JSON), transactions are \
judged as a database or transactional memory promises: by what they read and wrote, and when they began \
and ended. Anomalies are called by their names (G0, G1a, G1c, G-single, G2-item, lost-update, …), each with \
its smallest cycle.

`fencepost run --serial` records a run of a C, C++ or Rust program and judges it in one step.

With --from, explores a program on a machine with store buffers (x86) and checks every execution; \
blocks that should look atomic are marked `atomic { … }`:

  global balance;
  thread teller[2] { local b;  atomic { b = balance.load();  balance.store(b + 1); } }";

/// Examples of `serial`.
pub(crate) const SERIAL_EXAMPLES: &str = "\
Examples:
  fencepost serial run.txt
  fencepost serial --predict run.txt         could a run of this shape go wrong?
  fencepost serial --level snapshot-isolation history.edn
  fencepost serial --random --threads 4 --events 50 --commits --seed 7 | fencepost serial -
  fencepost serial --from teller.fp          is every execution of this program atomic?

Exit codes: 0 TSO-serializable, 1 not, 2 bad input, 3 undecided because of a limit or Ctrl-C,
4 an internal error.";

/// `play --help`.
pub(crate) const PLAY: &str = "\
Serves a page on this machine: an editor with examples, the verdict as you type, and for every violation the \
execution graph and a player that steps through the run. Programs may be in .fp, C, C++, Rust or litmus tests; \
they are compiled and explored, never run.

The server listens on the loopback address only, and answers only who knows the token in the address that it \
prints. Each check is a process with limits; a new text ends the check of the one before. The address bar holds \
the program, and \"Copy link\" gives a link without the token, which whoever has Fencepost can open.";

/// Examples of `play`.
pub(crate) const PLAY_EXAMPLES: &str = "\
Examples:
  fencepost play                             with an example to begin with
  fencepost play lock.c                      with a copy of this file
  fencepost play 'http://127.0.0.1:…/#p=…'   with the program that a link holds
  fencepost play --port 8080 --limit-time 3s

Exit codes: 0 ended by Ctrl-C, 2 the port is taken, the file cannot be read or the link is damaged.";

/// `lsp --help`.
pub(crate) const LSP: &str = "\
Talks to an editor over standard input and output, in the Language Server Protocol: findings of `check` as \
diagnostics, what a memory order does and whether it is needed (from `orders`) when the cursor is on it, and \
changes that make a program correct, or its orders weaker (from `fix`), as actions.

Programs in .fp are checked as they are typed; C, C++ and Rust when they are opened and saved, with the flags and \
the compile_commands.json that the editor's settings name. Checks run in the background, each as a process with \
limits, and end when the text changes or the editor does.";

/// Examples of `lsp`.
pub(crate) const LSP_EXAMPLES: &str = "\
Settings (initializationOptions, or \"fencepost\" in the editor's configuration):
  model             the memory model, such as \"tso\" [default: that of the language]
  limitTime         seconds for each check [default: --limit-time]
  limitMemory       megabytes for each check [default: --limit-memory]
  orders            look at memory orders, too [default: true]
  flags             more flags for clang or rustc, such as [\"-DNDEBUG\"]
  compileCommands   the folder of compile_commands.json
  delay             milliseconds without typing before a check begins [default: 250]

How to set it up in VS Code, Neovim, Helix and Emacs: docs/editor.md.

Exit codes: 0 the editor said goodbye, 1 it went away without, 2 bad usage.";

/// Examples of `completions`.
pub(crate) const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  fencepost completions bash > ~/.local/share/bash-completion/completions/fencepost
  fencepost completions zsh > ~/.zfunc/_fencepost
  fencepost completions fish > ~/.config/fish/completions/fencepost.fish";

/// Examples of `man`.
pub(crate) const MANUAL_EXAMPLES: &str = "\
Examples:
  fencepost man | man -l -
  fencepost man --directory ~/.local/share/man/man1 && man fencepost-check";

/// `export --help`.
pub(crate) const EXPORT: &str = "\
Writes a program in another tool's language. Promela, for Spin, under sequential consistency:

  fencepost export lock.fp > lock.pml
  spin -a lock.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan -E

C11, with the program's memory orders:

  fencepost export --to c lock.fp > lock.c
  cc -O2 -pthread -o lock lock.c && ./lock";

/// `refine --help`.
pub(crate) const REFINE: &str = "\
A specification is code too, only simpler: a queue with a lock around it. The library refines it if no \
client can tell the two apart, other than by seeing less. On weak memory a client sees more than \
calls and returns: if `get` returns what `put` was given, has all that happened before `put` happened \
for the caller of `get`, too? So histories also show when the markers of calls and returns propagate \
from thread to thread. Every history of the library, called by a most general client, must be one of \
the specification, and there must be no race. Then every client that calls no more than that (check \
it with --client) may reason with the specification. Histories may be of any length; only the number \
of markers on their way is bounded, by --pending.";

/// Examples of `refine`.
pub(crate) const REFINE_EXAMPLES: &str = "\
Example: a flag that should publish what was done before it was raised. Put this into flag.fp:

    max_value 1;
    spec flag {
        atomic f;
        method raise()  { f.store(1, rel); return(); }
        method raised() { local r; r = f.load(acq); return(r); }
    }
    library flag {
        atomic f;
        method raise()  { f.store(1, rlx); return(); }
        method raised() { local r; r = f.load(rlx); return(r); }
    }
    client { policy thread_per_method; }

    fencepost refine flag.fp                   violated: `raised` returns 1 too early
    fencepost refine --history-only flag.fp    holds: calls and returns alone do not show it
    fencepost refine --pending 4 spec.fp library.fp client.fp
    fencepost refine --client user.fp flag.fp  may this client reason with the specification?

Exit codes: 0 it refines, 1 it does not, 2 bad input or usage, 3 undecided because of a limit or
Ctrl-C, 4 an internal error.";

/// What `cluster run` is.
pub(crate) const CLUSTER_RUN: &str = "\
Starts all processes of a search and shows what process 0 reports.

The states of a program are divided among the processes, so that a program can be checked whose states do not fit
the memory of one machine. The answer is that of one process: the same verdicts, and witnesses as short.

With --processes N all run on this machine, which is of use to try things out. With --hosts each line of the file gets
a process, started over ssh in the directory of the same name, with the fencepost at the same place; programs and
binary must be the same everywhere, which is compared. Connections between the processes are neither encrypted nor
authenticated, so the addresses belong on a private network.

If a process is lost, the others end, and the answer is \"undecided\" (exit code 3). With --checkpoint DIR the search can
be resumed: run the same command with --resume.";

/// Examples of `cluster run`.
pub(crate) const CLUSTER_RUN_EXAMPLES: &str = "\
Examples:
    fencepost cluster run --processes 2 -- check program.fp
    fencepost cluster run --hosts hosts --workers 8 -- check --limit-time 2h program.fp
    fencepost cluster run --hosts 10.0.0.1:4700,10.0.0.2:4700 -- check program.fp
    fencepost cluster run --hosts hosts -- check --checkpoint saved program.fp
    fencepost cluster run --hosts hosts -- check --checkpoint saved --resume program.fp

Exit codes are those of process 0: 0 it holds, 1 violated, 2 bad input or usage, 3 undecided (a limit, Ctrl-C,
a lost host), 4 an internal error.";
